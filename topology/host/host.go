// Package host runs jobs without an image: as processes of the machine itself, in a
// folder of the attempt's own. It is a topology.Engine, so that package attempt drives
// it as it drives containers: what it calls a container is that folder with the
// processes that began in it.
//
// No isolation is promised. A job has the rights of the user that it runs as; what is
// promised is a clean start (environment, folder), limits as far as the machine can
// keep them, and a clean end: nothing that the job started lives on, and nothing of its
// folder is left.
//
// A supervisor, which is this program under another name, stands between the runner and
// each job (supervise_linux.go). It is there for what only a parent can do: whatever
// the job starts and disowns becomes the supervisor's child, so that it is found and killed,
// also when the runner itself is killed. A second such process (launch_linux.go) sets the limits
// on itself and becomes the job.
//
// Goroutines of an Engine, for each command that runs: one for each stream of its output and one that
// waits for its end (command_linux.go), and one that watches memory where no control group does.
package host

import (
	"net/netip"

	"github.com/runnerhub/runnerhub/topology/attempt"
)

// Options tune an executor. Dir is required.
type Options struct {
	attempt.Options
	// Dir is the folder of this machine in which each attempt gets one of its own. It is
	// made if absent, for the runner's eyes only.
	Dir string
	// User, where set, names the user that jobs run as; "" is the runner's own, which must not be the
	// superuser. It is asked before each job. Only the superuser can run jobs as another user.
	User func() (string, error)
}

// New returns an executor of jobs without an image. It is an error where this system is none that
// they can be run on; see Supported.
func New(opts Options) (*attempt.Executor, error) {
	engine, err := Open(opts.Dir, opts.User)
	if err != nil {
		return nil, err
	}
	opts.ReadyNetworks, opts.Subnets = -1, []netip.Prefix{}
	return attempt.New(engine, opts.Options), nil
}

// Names of this program, as its first argument, when it is not the runner; see Helper.
const (
	supervisorName = "runnerhub-host-supervisor"
	launcherName   = "runnerhub-host-launcher"
)

// markVariable marks every process of a container, in its environment, by the container's name. Who was killed
// before it could clean up is cleaned up after by it.
const markVariable = "RUNNERHUB_HOST_MARK"
