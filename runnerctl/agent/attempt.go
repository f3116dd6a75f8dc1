package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/topology"
)

// start runs the attempt of a lease in a goroutine of its own. The slot was taken
// by the caller and is freed when the hub has settled the attempt.
func (a *Agent) start(l *mcp.Lease, hubID string) {
	id := topology.Identity{Hub: hubID, Runner: a.cfg.RunnerID, Job: l.JobID, Attempt: l.Attempt, Epoch: l.LeaseEpoch}
	a.setLive(id, true)
	a.board.change(func(b *board) { b.busy++ })
	t := &attempt{a: a, lease: l, id: id, logger: a.logger.With("job", l.JobID, "attempt", l.Attempt)}
	a.attempts.Go(func() {
		t.run(func() {
			a.setLive(id, false)
			a.board.change(func(b *board) { b.busy-- })
			<-a.slots
		})
	})
}

// attempt is one execution on its way from lease to report.
type attempt struct {
	a      *Agent
	lease  *mcp.Lease
	id     topology.Identity
	logger *slog.Logger
	keeper *keeper
	door   *door
	begun  bool // by an earlier process
}

// run acknowledges, executes and reports. free is called once the slot may have its next job.
func (t *attempt) run(free func()) {
	received := time.Now()
	h := t.holdLease(free, time.Duration(t.lease.DeadlineMS)*time.Millisecond)
	defer h.end()
	if !t.keeper.acknowledge(h.ctx) {
		t.finish(nil, nil, t.unbegun(context.Cause(h.ctx)), free)
		return
	}
	h.renew()
	kept := *t.lease
	kept.Spec = nil
	e, err := t.a.spool.create(leaseRecord{
		RunnerID: t.id.Runner, HubID: t.id.Hub, Proof: proofOf(t.lease), LogURL: t.lease.LogURL,
		Lease: &kept, Spec: t.lease.Spec, Received: received, Boot: bootID(),
	})
	if err != nil {
		fault := spoolFault(err)
		t.a.engine.failed(fault.Message)
		t.finish(nil, nil, &report{Fail: fault}, h.settled)
		return
	}
	t.carry(h, e, newLogSpool(e, t.a.cfg.SpoolLimit), t.a.cfg.Executor.Run)
}

// execute is Run of an executor, or what stands in for it.
type execute func(context.Context, topology.Work, topology.Observer) topology.Result

// carry has the job executed and reports how it ended.
func (t *attempt) carry(h *held, e *entry, log *logSpool, run execute) {
	begin := time.Now()
	up := t.a.upload(context.Background(), e, log, t.logger)
	spec, fault := t.spec()
	if fault != nil {
		log.Close()
		t.finish(e, up, fault, h.settled)
		return
	}
	t.logger.Info("running a job", "name", spec.Name, "image", spec.Image)

	obs := &observer{ctx: h.ctx, keeper: t.keeper, log: log, stop: h.stop}
	work := topology.Work{
		Identity: t.id, Owner: t.lease.Owner, Spec: spec, Collect: t.collect(e), Save: e.saveCheckpoint, Enter: t.door.open,
		Cache: t.cache(),
	}
	t.door.dir = spec.Workspace()
	if spec.Session() {
		work.LetGo, work.Used = t.door.released, t.keeper.used
	}
	s := &stay{t: t, entry: e, log: log, obs: obs, limit: min(time.Duration(spec.HoldOnFailure), t.a.cfg.MaxHold)}
	if s.limit > 0 {
		work.Hold = s.hold
	}
	res := t.execute(h.ctx, run, work, e, obs)
	t.door.close()
	t.keeper.phaseIs(topology.PhaseCollecting, "")
	if s.sent {
		res.Artifacts = s.artifacts
	} else {
		t.guard(&res, func() { t.sendArtifacts(h.ctx, &res, obs) })
	}
	log.Close()
	size, _ := log.Size()
	rep := t.report(context.Cause(h.ctx), res, obs.failure(), size)
	t.logger.Info("the job ended", "status", rep.status(), "ms", time.Since(begin).Milliseconds(), "failure", rep.failure())
	t.finish(e, up, rep, h.settled)
}

// spec is the job as this runner understands it, or why it does not.
func (t *attempt) spec() (*topology.Spec, *report) {
	spec, err := topology.Parse(t.lease.Spec)
	if err != nil {
		return nil, &report{Fail: &failReport{
			Class: string(topology.ClassSpecInvalid), Message: clip("This runner cannot read the job's spec: "+err.Error(), maxMessage),
			Hint: fmt.Sprintf("The runner is %s. Install the hub's release on the machine if the spec is right.", mcp.Version),
		}}
	}
	if ms := t.lease.TimeoutMS; ms > 0 { // the hub's default, where the spec names none
		spec.Timeout = topology.Duration(time.Duration(ms) * time.Millisecond)
	}
	return spec, nil
}

// execute prepares and runs the job, whose source is in its entry until the report is. A panic costs this job and not the others.
func (t *attempt) execute(ctx context.Context, run execute, work topology.Work, e *entry, obs topology.Observer) (res topology.Result) {
	t.guard(&res, func() { res = t.executeUnguarded(ctx, run, work, e, obs) })
	return res
}

// guard does something of an attempt's. A panic in it becomes the result.
func (t *attempt) guard(res *topology.Result, do func()) {
	defer func() {
		if p := recover(); p != nil {
			t.logger.Error("a job made the runner panic", "panic", p, "stack", string(debug.Stack()))
			*res = internal(fmt.Sprintf("The runner failed: %v", p))
		}
	}()
	do()
}

func (t *attempt) executeUnguarded(ctx context.Context, run execute, work topology.Work, e *entry, obs topology.Observer) topology.Result {
	// Asked before the source is fetched with the owner's own credentials, and again when all of the job is known.
	owner := t.a.guard.owner()
	if _, denied := t.admit(owner, work.Spec); denied != nil {
		return t.refused(denied, obs)
	}
	work, ended := t.prepare(ctx, work, e, obs)
	if ended != nil {
		return *ended
	}
	if ended := t.compose(ctx, &work, obs); ended != nil {
		return *ended
	}
	spec, denied := t.admit(owner, work.Spec)
	if denied != nil {
		return t.refused(denied, obs)
	}
	if err := e.savePrepared(work); err != nil {
		t.logger.Warn("the job could not be taken up if this runner were killed", "err", err)
	}
	work.Spec, work.Metadata = spec, owner.MetadataAddresses
	return run(ctx, work, obs)
}

// refused is the result of a job that was not begun, and says so in its log.
func (t *attempt) refused(f *topology.Failure, obs topology.Observer) topology.Result {
	text := f.Message + "\nHint: " + f.Hint + "\n"
	if err := obs.Log(topology.Record{Time: time.Now(), Stream: topology.System, Data: []byte(text)}); err != nil {
		t.logger.Warn("the log cannot be kept", "err", err)
	}
	return topology.Result{Status: topology.Failed, Failure: f}
}

// report is what to tell the hub of an execution, nil if nobody wants to know.
// cause is what ended it early, if anything did.
func (t *attempt) report(cause error, res topology.Result, logErr error, logBytes int64) *report {
	class := topology.Class("")
	if res.Failure != nil {
		class = res.Failure.Class
	}
	switch {
	case errors.Is(cause, topology.ErrStale):
		return nil
	case logErr != nil && res.Status != topology.Succeeded && class != topology.ClassArtifact: // all but a job that had succeeded
		f := spoolFault(logErr)
		res.Status, res.Failure = topology.Failed, &topology.Failure{Class: topology.Class(f.Class), Message: f.Message, Hint: f.Hint}
		t.a.engine.failed(f.Message)
	case errors.Is(cause, topology.ErrDraining) && res.Status == topology.Canceled:
		return released("the runner is shutting down")
	case class == topology.ClassDockerUnavailable || class == topology.ClassInternal, class == topology.ClassDiskFull && res.Failure.Container == "",
		res.Failure != nil && res.Failure.Machine:
		// Whatever it was, it was not the job's own fault: rest before the next job pays for it.
		t.a.engine.failed(res.Failure.Message)
	default:
		t.a.engine.worked()
	}
	if t.lease.CacheOwner == "" { // an older hub, which takes no field that it does not know
		res.Caches = nil
	}
	return &report{Result: resultOf(res, logBytes)}
}

// unbegun is what to tell the hub of a lease that was not begun.
func (t *attempt) unbegun(cause error) *report {
	switch {
	case errors.Is(cause, topology.ErrStale):
		return nil
	case errors.Is(cause, topology.ErrCanceled):
		return &report{Result: &mcp.Result{Status: string(topology.Canceled), Failure: &mcp.Failure{
			Class: string(topology.ClassCanceled), Message: clip(cause.Error(), maxMessage),
		}}}
	default:
		return released("the runner is shutting down")
	}
}

// spoolFault is the failure of a job that this machine cannot keep the log of.
func spoolFault(err error) *failReport {
	if isDiskFull(err) {
		return &failReport{
			Class: string(topology.ClassDiskFull), Message: "The runner's disk is full: there is no room for the job's log.",
			Hint: "Free some space on the runner's machine.",
		}
	}
	return &failReport{
		Class: string(topology.ClassInternal), Message: clip("The runner cannot keep the job's log: "+err.Error(), maxMessage),
		Hint: "See whether the runner may write to its spool directory.",
	}
}

func summary(f *topology.Failure) string {
	if f == nil {
		return ""
	}
	return string(f.Class) + ": " + clip(f.Message, maxReason)
}
