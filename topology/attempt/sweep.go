package attempt

import (
	"context"

	"github.com/runnerhub/runnerhub/topology"
)

// Sweep removes what earlier processes of this runner left; see topology.Executor.
// It also has the runner's ready networks made, since it is the first that an
// executor hears of a runner.
func (e *Executor) Sweep(ctx context.Context, hub, runner string, live []topology.Identity) (topology.Leaks, error) {
	if err := e.reaper.wait(ctx); err != nil {
		return topology.Leaks{}, err
	}
	seen, err := e.engine.Observe(ctx, topology.Filter{Hub: hub, Runner: runner})
	if err != nil {
		return topology.Leaks{}, err
	}
	// Asked after the look: what appeared in between belongs to an attempt or to the pool.
	live = append(e.activeAttempts(), live...)
	left := topology.Leftovers(seen, hub, runner, live, e.pool.names())
	plan := topology.PlanRemoval(left, "no live attempt owns it")
	if len(plan) > 0 {
		e.opts.Logger.Info("removing leftovers", "plan", plan.String())
	}
	err = execute(ctx, e.engine, plan)
	e.pool.warm(hub, runner)
	return left.Count(), err
}
