package attempt

import (
	"context"
	"slices"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// aMoment is how long it takes to see that a process has ended.
const aMoment = 50 * time.Millisecond

// hold keeps the topology of an attempt that failed, as it is, for as long as whoever gave the work wants to.
// The time limits of the job and the fate of its services count no more; its limit of the disk does.
func (x *execution) hold(result topology.Result) {
	if x.work.Hold == nil || !x.worthHolding(result) {
		return
	}
	begin := time.Now()
	defer func() { x.held = time.Since(begin) }()
	x.stop(errOver)
	ctx, cancel := context.WithCancelCause(x.parent) // not that of the attempt, which has ended
	defer cancel(nil)
	defer context.AfterFunc(x.live, func() { cancel(context.Cause(x.live)) })() // the engine is gone
	x.mu.Lock()
	x.endHold = cancel
	x.mu.Unlock()
	x.obs.Phase(topology.PhaseHeld, "")
	x.standIn(ctx)
	x.use.open() // where it was a session that ended
	x.open()
	x.work.Hold(ctx, result)
}

// over ends the attempt, or its hold, for what a watcher saw.
func (x *execution) over(cause error) {
	x.stop(cause)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.endHold != nil {
		x.endHold(cause)
	}
}

// worthHolding says whether there is something to look at: the job failed, and not the machine under it.
func (x *execution) worthHolding(result topology.Result) bool {
	if result.Status != topology.Failed && result.Status != topology.TimedOut || x.parent.Err() != nil || x.live.Err() != nil {
		return false
	}
	if f := result.Failure; f != nil {
		if f.Machine {
			return false
		}
		switch f.Class {
		case topology.ClassDockerUnavailable, topology.ClassDiskFull, topology.ClassInternal, topology.ClassPolicyDenied:
			return false
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.known.Containers) > 0
}

// standIn starts a container in the place of a job's that has ended, so that there is one to run commands in. An image
// without a shell has none.
func (x *execution) standIn(ctx context.Context) {
	if x.job == nil || x.saved.Job == nil {
		return
	}
	soon, cancel := context.WithTimeout(ctx, aMoment)
	_, err := x.job.Wait(soon)
	cancel()
	if err != nil {
		return // it runs
	}
	spec := topology.StandIn(*x.saved.Job, x.spec.HoldingShell())
	if x.knows(spec.Name) { // of the process that was killed
		_ = x.e.engine.RemoveContainer(x.live, spec.Name) // to create it tells the same
	}
	if err := x.do(ctx, topology.Op{Kind: topology.OpCreateContainer, Target: spec.Name, Container: &spec}); err != nil {
		x.say("No container could be made to look into: %s", engineWords(err))
		return
	}
	process, err := x.e.engine.Start(ctx, spec.Name, nil)
	if err != nil {
		x.say("%s has no %s, so that no command can be run beside the job's files", place(x.spec), x.spec.HoldingShell())
		return
	}
	process.Close() // it says nothing
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stand = spec.Name
	if x.spec.OnHost() {
		x.say("The job has ended; commands run in its folder, with its environment")
		return
	}
	x.say("The job's container has ended; commands run in one of the same image, environment, workspace and network")
}

// knows says whether a container of the attempt was there already.
func (x *execution) knows(container string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.ContainsFunc(x.known.Containers, func(c topology.ObservedContainer) bool { return c.Name == container })
}

// open hands out the way inside, once.
func (x *execution) open() {
	if x.work.Enter != nil {
		x.opened.Do(func() { x.work.Enter(&inside{x}) })
	}
}
