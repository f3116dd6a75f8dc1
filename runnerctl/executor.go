package runnerctl

import (
	"context"
	"path/filepath"

	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/runnerctl/policyfile"
	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/attempt"
	"github.com/runnerhub/runnerhub/topology/docker"
	"github.com/runnerhub/runnerhub/topology/host"
)

// newExecutor connects to the machine's container engine, and stands ready for jobs without an image where the
// system has what they take. Without an engine it is for those alone, where the owner allows them.
func newExecutor(ctx context.Context, f *cmdutil.Factory) (topology.Executor, error) {
	options := attempt.Options{ReadyNetworks: f.Engine.Slots, Subnets: f.Engine.Subnets, WarmFor: f.Engine.WarmFor}
	owner := policyfile.In(f.ConfigDir)
	machine, noHost := host.New(host.Options{
		Options: options, Dir: filepath.Join(f.StateDir, "host"),
		User: func() (string, error) {
			p, err := owner.Load()
			if err != nil {
				return "", err
			}
			return p.HostUser, nil
		},
	})
	options.Pods = f.Engine.ReadyPod
	containers, noEngine := docker.New(ctx, docker.Options{Options: options})
	allowed := func() bool {
		p, err := owner.Load()
		return err == nil && p.HostExecutor
	}
	switch {
	case noEngine != nil && (noHost != nil || !allowed()):
		return nil, noEngine
	case noEngine != nil:
		return host.Join(nil, noEngine, machine, allowed), nil
	case noHost != nil: // the system is none for such jobs
		return containers, noEngine
	}
	return host.Join(containers, nil, machine, nil), nil
}
