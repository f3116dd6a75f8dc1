package host

import (
	"context"
	"errors"
	"slices"

	"github.com/runnerhub/runnerhub/topology"
)

// joined runs each job on the executor that it is for.
type joined struct {
	containers topology.Executor // nil where there is no engine
	noEngine   error             // why
	host       topology.Executor
	allowed    func() bool
}

var (
	_ topology.Executor = (*joined)(nil)
	_ topology.Cleaner  = (*joined)(nil)
)

// Join returns an executor that runs jobs with an image on containers and those without on host. containers may be
// nil, noEngine saying why; then the machine counts as one that can run jobs without an image alone, while
// allowed says that its owner lets it.
func Join(containers topology.Executor, noEngine error, host topology.Executor, allowed func() bool) topology.Executor {
	return &joined{containers, noEngine, host, allowed}
}

// of returns the executor of a job.
func (j *joined) of(spec *topology.Spec) (topology.Executor, error) {
	if spec.OnHost() {
		return j.host, nil
	}
	return j.containers, j.noEngine
}

// both calls f for each of the two and returns the errors.
func (j *joined) both(f func(topology.Executor) error) error {
	err := f(j.host)
	if j.containers != nil {
		err = errors.Join(err, f(j.containers))
	}
	return err
}

func unavailable(err error) topology.Result {
	return topology.Result{Status: topology.Failed, Failure: &topology.Failure{
		Class: topology.ClassDockerUnavailable, Message: "There is no container engine on this machine: " + err.Error(),
	}}
}

// Run executes an attempt.
func (j *joined) Run(ctx context.Context, work topology.Work, obs topology.Observer) topology.Result {
	e, err := j.of(work.Spec)
	if err != nil {
		return unavailable(err)
	}
	return e.Run(ctx, work, obs)
}

// Adopt takes an attempt up.
func (j *joined) Adopt(ctx context.Context, work topology.Work, left topology.Resume, obs topology.Observer) topology.Result {
	e, err := j.of(work.Spec)
	if err != nil {
		return unavailable(err)
	}
	return e.Adopt(ctx, work, left, obs)
}

// Sweep removes what earlier runs left, on both.
func (j *joined) Sweep(ctx context.Context, hub, runner string, live []topology.Identity) (topology.Leaks, error) {
	var found topology.Leaks
	err := j.both(func(e topology.Executor) error {
		leaks, err := e.Sweep(ctx, hub, runner, live)
		found.Containers += leaks.Containers
		found.Networks += leaks.Networks
		found.Volumes += leaks.Volumes
		found.Images += leaks.Images
		return err
	})
	return found, err
}

// Probe describes both as one machine.
func (j *joined) Probe(ctx context.Context) (topology.Info, error) {
	host, err := j.host.Probe(ctx)
	if err != nil {
		return host, err
	}
	if j.containers == nil {
		if !j.allowed() || !slices.Contains(host.Capabilities, "host") {
			return topology.Info{}, j.noEngine
		}
		return host, nil
	}
	info, err := j.containers.Probe(ctx)
	if err != nil {
		return info, err
	}
	if slices.Contains(host.Capabilities, "host") {
		info.Capabilities = append(slices.Clone(info.Capabilities), "host")
		slices.Sort(info.Capabilities)
	}
	return info, nil
}

// Close closes both.
func (j *joined) Close(ctx context.Context) error {
	return j.both(func(e topology.Executor) error { return e.Close(ctx) })
}

// Survey lists what is on both.
func (j *joined) Survey(ctx context.Context) (all topology.Snapshot, err error) {
	err = j.both(func(e topology.Executor) error {
		c, ok := e.(topology.Cleaner)
		if !ok {
			return nil
		}
		s, err := c.Survey(ctx)
		all.Containers = append(all.Containers, s.Containers...)
		all.Networks = append(all.Networks, s.Networks...)
		all.Volumes = append(all.Volumes, s.Volumes...)
		all.Images = append(all.Images, s.Images...)
		return err
	})
	return all, err
}

// Remove removes what is in s from where it is: each passes over what it does not know.
func (j *joined) Remove(ctx context.Context, s topology.Snapshot) error {
	return j.both(func(e topology.Executor) error {
		c, ok := e.(topology.Cleaner)
		if !ok {
			return nil
		}
		return c.Remove(ctx, s)
	})
}
