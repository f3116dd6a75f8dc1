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
	// An engine may say that something is gone while another removal of it, by a process that was killed, is still
	// under way and then fails. So it is looked at again until nothing is left.
	var found topology.Leaks
	var failed error
	for round := range sweepRounds {
		left, err := e.leftovers(ctx, hub, runner, live)
		if err != nil {
			return found, err
		}
		if round == 0 {
			found = left.Count()
		}
		plan := topology.PlanRemoval(left, "no live attempt owns it")
		if len(plan) == 0 {
			failed = nil
			break
		}
		e.opts.Logger.Info("removing leftovers", "plan", plan.String())
		failed = execute(ctx, e.engine, e.nets, plan)
	}
	e.pool.warm(hub, runner)
	return found, failed
}

// sweepRounds is how often a sweep looks and removes before it leaves the rest to the next one.
const sweepRounds = 3

// leftovers observes what a runner owns by its labels and no live attempt does.
func (e *Executor) leftovers(ctx context.Context, hub, runner string, live []topology.Identity) (topology.Snapshot, error) {
	seen, err := e.engine.Observe(ctx, topology.Filter{Hub: hub, Runner: runner, Images: true})
	if err != nil {
		return topology.Snapshot{}, err
	}
	// Asked after the look: what appeared in between belongs to an attempt or to the pool.
	return topology.Leftovers(seen, hub, runner, append(e.activeAttempts(), live...), append(e.pool.names(), e.warm.held()...)), nil
}

// Survey lists what carries our labels; see topology.Cleaner.
func (e *Executor) Survey(ctx context.Context) (topology.Snapshot, error) {
	return e.engine.Observe(ctx, topology.Filter{})
}

// Remove removes what is in s; see topology.Cleaner.
func (e *Executor) Remove(ctx context.Context, s topology.Snapshot) error {
	return execute(ctx, e.engine, e.nets, topology.PlanRemoval(s, "its runner does not run"))
}

var _ topology.Cleaner = (*Executor)(nil)
