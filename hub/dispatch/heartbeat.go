package dispatch

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// maxStep is the most bytes of a step's name in a heartbeat.
const maxStep = 256

// shortHold is the least that a heartbeat which may be held is held.
const shortHold = time.Second

// Heartbeat renews a lease and holds the call until there is a directive: at most as long as
// the lease that it renewed. A lease that is no longer the job's is the state stale and no error.
// Errors: InvalidArgument, NotFound, Draining, Unavailable.
func (s *Service) Heartbeat(ctx context.Context, p hub.Principal, r HeartbeatRequest) (HeartbeatResult, error) {
	if err := s.machine(p); err != nil {
		return HeartbeatResult{}, err
	}
	if err := checkHeartbeat(r); err != nil {
		return HeartbeatResult{}, err
	}
	s.presence.beat(p.Runner, s.clock.now())
	w := s.watch.add(r.JobID)
	defer s.watch.remove(w)

	if h := r.Held; h != nil {
		if !h.Failure.Class.Known() {
			return HeartbeatResult{}, hub.Errorf(hub.InvalidArgument, "failure class %q is not known", clip(string(h.Failure.Class), 40))
		}
		f := &h.Failure
		f.Message, f.Hint, f.Container = bound(f.Message, maxMessage), bound(f.Hint, maxMessage), bound(f.Container, maxStep)
	}
	progress := bound(r.Progress, maxReason)
	if r.IdleLeft > 0 { // by this clock, whatever the runner's says
		progress += ", ends at " + s.clock.now().Add(r.IdleLeft).UTC().Format(time.RFC3339)
	}
	moved := false
	d, err := s.decide(ctx, r.JobID, p, func(j hub.Job, pl hub.JobPayload) (hub.Decision, error) {
		if err := holds(p.Runner, j); err != nil {
			return hub.Decision{}, err
		}
		moved = j.Phase != r.Phase || j.Step != r.Step
		if r.Held != nil {
			return hub.Hold(j, pl, r.Proof, *r.Held, s.clock.now(), s.policy)
		}
		return hub.Heartbeat(j, pl, r.Proof, r.Phase, bound(r.Step, maxStep), progress, s.clock.now(), s.policy)
	})
	if err != nil {
		return staleOr(err)
	}
	if moved {
		s.changed(r.JobID, false)
	}
	return s.holdHeartbeat(ctx, r, d.Job, w)
}

func (s *Service) holdHeartbeat(ctx context.Context, r HeartbeatRequest, j hub.Job, w *watcher) (HeartbeatResult, error) {
	// The answer must leave the runner time to send the next one.
	room := min(s.policy.LeaseTTL-s.policy.Heartbeat, j.LeaseExpiresAt.Sub(s.clock.now())/2)
	wait := min(r.Wait, max(room, shortHold)) // shortly before the deadline there is no room, and no use in haste
	h := s.hold(ctx, wait)
	defer h.stop()
	select {
	case <-w.ch: // our own renewal; what happened since is seen by the look below
	default:
	}
	for {
		out, err := s.directive(ctx, r, j)
		if err != nil || out.State != HeartbeatHeld || len(out.Orders) > 0 || wait <= 0 {
			return out, err
		}
		switch err := h.wait(w.ch); {
		case errors.Is(err, errWaited):
			return out, nil
		case err != nil:
			return HeartbeatResult{}, err
		}
		if j, err = s.store.GetJob(ctx, r.JobID); err != nil {
			return HeartbeatResult{}, err
		}
	}
}

// holds tells apart whose job j is: another owner's is not found, and one that another runner holds is
// a stale lease even with the right nonce.
func holds(r hub.Runner, j hub.Job) error {
	switch {
	case j.Owner != r.Owner:
		return noJob(j.ID)
	case j.State.Live() && j.LeaseRunnerID != r.ID:
		return hub.Errorf(hub.StaleLease, "another runner holds the job").
			WithHint("kill the attempt's containers at once")
	}
	return nil
}

// directive is what a job's row says to the holder of a lease.
func (s *Service) directive(ctx context.Context, r HeartbeatRequest, j hub.Job) (HeartbeatResult, error) {
	if err := j.Fence(r.Proof); err != nil {
		return staleOr(err)
	}
	now := s.clock.now()
	left := func(t time.Time) time.Duration { return max(0, t.Sub(now)) }
	out := HeartbeatResult{State: HeartbeatHeld, TTL: left(j.LeaseExpiresAt), Deadline: left(j.DeadlineAt)}
	payload, err := s.recent.payload(ctx, s.store, j.ID)
	if err != nil {
		return HeartbeatResult{}, err
	}
	if out.Orders, err = s.orders(ctx, j, payload); err != nil || j.CancelRequestedAt.IsZero() {
		return out, err
	}
	out.State, out.Reason, out.Grace = HeartbeatCancel, j.CancelReason, payload.Grace
	return out, nil
}

// staleOr turns the loss of a lease into the state that tells it.
func staleOr(err error) (HeartbeatResult, error) {
	if c := hub.CodeOf(err); c == hub.StaleLease || c == hub.AlreadySettled {
		return HeartbeatResult{State: HeartbeatStale}, nil
	}
	return HeartbeatResult{}, err
}

func checkHeartbeat(r HeartbeatRequest) error {
	phases := []string{"preparing", "pulling", "starting_services", "running", "collecting", hub.PhaseHeld}
	switch {
	case !slices.Contains(phases, r.Phase):
		return hub.Errorf(hub.InvalidArgument, "phase %q is none of preparing, pulling, starting_services, running, collecting, held", clip(r.Phase, 40))
	case (r.Phase == hub.PhaseHeld) != (r.Held != nil):
		return hub.Errorf(hub.InvalidArgument, "the phase held and what failed go together")
	case len(r.Step) > maxStep:
		return hub.Errorf(hub.InvalidArgument, "step has %d bytes and may have %d", len(r.Step), maxStep)
	case len(r.Progress) > maxReason:
		return hub.Errorf(hub.InvalidArgument, "progress has %d bytes and may have %d", len(r.Progress), maxReason)
	}
	return nil
}
