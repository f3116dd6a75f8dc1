package attempt

import (
	"context"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// runCommand waits for the job container's own process.
func (x *execution) runCommand() outcome {
	x.obs.Phase(topology.PhaseRunning, "")
	exit, err := x.job.Wait(x.ctx)
	if x.observed.Engine.KeepsUsage {
		x.readUsage()
	}
	if err == nil || x.ctx.Err() == nil {
		return x.exited("the job", exit, err)
	}
	exit, err = x.terminate(x.job.Wait, func(ctx context.Context) error {
		return x.e.engine.Signal(ctx, x.names.Job, "SIGTERM")
	})
	return x.ended(exit, err)
}

// killTimeout is how long a killed process may take to be gone.
const killTimeout = 15 * time.Second

// terminate ends what the job runs, for the reason that x.ctx ended with: SIGTERM
// by term, the grace, SIGKILL; or SIGKILL at once where nobody waits for the rest.
// wait is how the end shows. Its error says that the end was not seen.
func (x *execution) terminate(wait func(context.Context) (topology.Exit, error), term func(context.Context) error) (topology.Exit, error) {
	if x.live.Err() != nil {
		return topology.Exit{}, context.Cause(x.live)
	}
	if grace := x.grace(); grace > 0 {
		x.say("Stopping the job: %s; it has %s before it is killed", x.why(), grace)
		ctx, cancel := context.WithTimeout(x.live, grace)
		defer cancel()
		if err := term(ctx); err == nil {
			if exit, err := wait(ctx); err == nil {
				return exit, nil
			}
			x.say("The job did not end in %s and is killed", grace)
		}
	}
	ctx, cancel := context.WithTimeout(x.live, killTimeout)
	defer cancel()
	err := x.e.engine.Signal(ctx, x.names.Job, "SIGKILL")
	switch topology.KindOf(err) {
	case "", topology.KindNotFound, topology.KindNotRunning:
		return wait(ctx)
	}
	return topology.Exit{}, err
}
