package agent

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/topology"
)

// minPhaseGap is the least time between two heartbeats that only tell a new
// phase: a job of a few hundred milliseconds costs the hub no write for each of its phases.
const minPhaseGap = time.Second

// minBeatGap is the least time between two renewals, whatever the hub asks for.
const minBeatGap = 100 * time.Millisecond

// keeper keeps one lease: it sends the heartbeats and carries out what the hub
// answers. stop is the attempt's cancel function.
type keeper struct {
	client Client
	lease  *mcp.Lease
	stop   context.CancelCauseFunc
	logger *slog.Logger
	// unpaired is told when the hub refuses the runner itself, and hubIs whether the hub answers.
	unpaired func(error)
	hubIs    func(error)
	// asked is handed what callers ask of the job's containers, as often as the hub tells it; nil where nobody wants to know.
	asked func([]mcp.ExecOrder)

	mu        sync.Mutex
	phase     topology.Phase
	step      string
	told      time.Time // when the last heartbeat was sent
	canceling bool
	stale     bool
	reporting bool
	fresh     chan struct{} // holds a value while the phase is news
	held      *mcp.HoldArgs // how a held attempt failed
	heldUntil time.Time     // by the monotonic clock
	session   string        // "" for none that is open
	idleUntil time.Time     // zero while it is in use
}

func newKeeper(c Client, l *mcp.Lease, stop context.CancelCauseFunc, logger *slog.Logger, unpaired, hubIs func(error)) *keeper {
	return &keeper{
		client: c, lease: l, stop: stop, logger: logger, unpaired: unpaired, hubIs: hubIs,
		phase: topology.PhasePreparing, fresh: make(chan struct{}, 1),
	}
}

// acknowledge sends the first heartbeat, for as long as it takes: the hub may be
// restarting, and the lease may still be ours when it is back. It is false when the lease is not to be begun.
func (k *keeper) acknowledge(ctx context.Context) bool {
	pause := hubBackoff()
	for {
		_, err := k.beat(ctx, 0)
		if err == nil {
			break
		}
		if !pause.wait(ctx, err) {
			return false
		}
	}
	return ctx.Err() == nil
}

// hold keeps a heartbeat open at the hub, so that a cancel arrives at once, and
// renews the lease with each new one. It ends with ctx or when the lease is lost. While the hub is away it tries on: the
// hub accepts a late renewal until it has taken the lease away.
func (k *keeper) hold(ctx context.Context) {
	every := 15 * time.Second
	if ms := time.Duration(k.lease.HeartbeatMS) * time.Millisecond; ms > 0 {
		every = min(max(ms, minBeatGap), mcp.MaxWait*time.Millisecond)
	}
	// The lease must not run out over pauses.
	pause := newBackoff(100*time.Millisecond, min(every, 5*time.Second))
	for ctx.Err() == nil {
		held := every
		if k.isCanceling() {
			held = 0 // it would be answered at once
		}
		begin := time.Now()
		asked, err := k.beat(ctx, held)
		switch {
		case k.isStale():
			return
		case err != nil && !pause.wait(ctx, err):
			return
		case err != nil:
			continue
		}
		pause.reset()
		// A hub that does not hold the call is not asked more often than it wants, but where there is something to do.
		gap := every
		if asked {
			gap = minBeatGap
		}
		if rest := gap - time.Since(begin); rest > 0 && !sleep(ctx, rest) {
			return
		}
	}
}

// tell sends what the attempt is busy with when it changes.
func (k *keeper) tell(ctx context.Context) {
	for {
		select {
		case <-k.fresh:
		case <-ctx.Done():
			return
		}
		k.mu.Lock()
		rest := minPhaseGap - time.Since(k.told)
		k.mu.Unlock()
		if rest > 0 && !sleep(ctx, rest) {
			return
		}
		// The held heartbeat may have told it meanwhile; telling twice is harmless, and a failed
		// one needs no repeating: the next held one tells the same.
		if _, err := k.beat(ctx, 0); err != nil && ctx.Err() == nil {
			k.logger.Debug("the hub was not told a phase", "err", err)
		}
	}
}

// beat sends one heartbeat and carries out the answer; asked says that callers want something. The error is one after
// which the next may succeed.
func (k *keeper) beat(ctx context.Context, wait time.Duration) (asked bool, err error) {
	args := k.args(wait)
	res, err := k.client.HeartbeatJob(ctx, args)
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if args.Held != nil && codeOf(err) == mcp.CodeInvalidArgument { // a hub of an earlier release
		k.logger.Warn("the hub does not know of holds; it is not told of this one", "err", err)
		k.holds(nil, 0)
		return k.beat(ctx, 0)
	}
	if err != nil {
		if refused(err) {
			k.unpaired(err)
		}
		if lost(err) {
			k.lose()
			return false, nil
		}
		k.logger.Debug("a heartbeat failed", "err", err)
		k.hubIs(err)
		return false, err
	}
	k.hubIs(nil)
	switch res.State {
	case mcp.HeartbeatStale:
		k.lose()
	case mcp.HeartbeatCancel:
		k.cancel(res)
	}
	if len(res.Requests) == 0 || k.asked == nil {
		return false, nil
	}
	k.asked(res.Requests)
	return true, nil
}

// args is what the next heartbeat says.
func (k *keeper) args(wait time.Duration) mcp.HeartbeatJobArgs {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.told = time.Now()
	args := mcp.HeartbeatJobArgs{
		LeaseProof: proofOf(k.lease), Phase: string(k.phase), Step: clip(k.step, 256), WaitMS: wait.Milliseconds(),
	}
	if k.phase == topology.PhaseRunning && k.session != "" {
		args.Progress = k.session
		if !k.idleUntil.IsZero() {
			args.IdleLeftMS = max(1, time.Until(k.idleUntil).Milliseconds())
		}
	}
	if k.phase != topology.PhaseHeld {
		return args
	}
	if k.held == nil { // not yet, or the hub would not understand
		args.Phase = string(topology.PhaseRunning)
		return args
	}
	h := *k.held
	h.LeftMS = max(0, time.Until(k.heldUntil).Milliseconds())
	args.Held = &h
	return args
}

// holds tells the hub from now on how the attempt failed, and for how long its containers are held.
func (k *keeper) holds(h *mcp.HoldArgs, left time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.phase, k.step = topology.PhaseHeld, ""
	k.held, k.heldUntil = h, time.Now().Add(left)
	if h == nil {
		return
	}
	select {
	case k.fresh <- struct{}{}:
	default:
	}
}

// used is told by the executor how a session is used. That it is open is told to the hub soon, and what follows with the next
// heartbeats: it is no news to who uses it.
func (k *keeper) used(busy bool, until time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	opened := k.session == ""
	k.session, k.idleUntil = "session: idle", until
	if busy {
		k.session, k.idleUntil = "session: in use", time.Time{}
	}
	if !opened {
		return
	}
	select {
	case k.fresh <- struct{}{}:
	default:
	}
}

// lose ends the attempt: somebody else may run the job by now.
func (k *keeper) lose() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stale || k.reporting {
		return
	}
	k.stale = true
	k.logger.Warn("the lease is lost; killing the job's containers")
	k.stop(topology.ErrStale)
}

func (k *keeper) cancel(res mcp.HeartbeatJobResult) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.canceling {
		return
	}
	k.canceling = true
	k.logger.Info("the job was canceled", "reason", res.Reason)
	k.stop(&cancelCause{reason: res.Reason, grace: time.Duration(res.GraceMS) * time.Millisecond})
}

// phaseIs is told by the executor.
func (k *keeper) phaseIs(p topology.Phase, step string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.phase == p && k.step == step {
		return
	}
	k.phase, k.step = p, step
	select {
	case k.fresh <- struct{}{}:
	default:
	}
}

// report tells that the attempt's end is on its way to the hub. From here on the
// hub's answer to the report counts and not a heartbeat's: one that is held is told "stale" by our own report.
func (k *keeper) report() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.reporting = true
}

func (k *keeper) isStale() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.stale
}

func (k *keeper) isCanceling() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.canceling
}

func proofOf(l *mcp.Lease) mcp.LeaseProof {
	return mcp.LeaseProof{JobID: l.JobID, Attempt: l.Attempt, LeaseEpoch: l.LeaseEpoch, LeaseToken: l.LeaseToken}
}
