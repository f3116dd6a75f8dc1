package dispatch

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/pairing"
)

// Lease hands the runner p a job, holding the call while there is none. The same
// RequestID again returns the same lease while its attempt lives. An old protocol or an
// unpaired runner is told by a directive; a draining one gets nothing. Errors: InvalidArgument,
// Unauthenticated, Draining, Unavailable.
func (s *Service) Lease(ctx context.Context, p hub.Principal, r LeaseRequest) (LeaseResult, error) {
	out := LeaseResult{}
	if err := s.machine(p); err != nil {
		return out, err
	}
	if err := checkLease(r); err != nil {
		return out, err
	}
	var err error
	if out.HubID, err = s.HubID(ctx); err != nil {
		return out, err
	}
	r.Presence.Capabilities = hub.FilterCapabilities(r.Presence.Capabilities)
	r.Presence = cleaned(r.Presence)
	r.Presence.SeenAt, r.Presence.LeftAt = s.clock.now(), time.Time{}
	if r.Leaving {
		r.Presence.Draining, r.Presence.LeftAt = true, r.Presence.SeenAt
	}
	if err := s.heardPolicy(ctx, &p, r.Policy); err != nil {
		return out, err
	}
	s.presence.polled(p.Runner, r.Presence)
	p.Runner.Presence = r.Presence
	if r.Presence.Protocol < s.policy.MinProtocol {
		out.Directives = append(out.Directives, DirectiveUpdateRequired)
		return out, nil
	}
	ctx, done, err := s.requests.begin(ctx, requestKey{p.Runner.ID, r.RequestID})
	if err != nil {
		return out, err
	}
	defer done()
	if !r.Fresh {
		out.Lease, err = s.sameAgain(ctx, p, r.RequestID)
	}
	if err == nil && out.Lease == nil && !r.Presence.Draining {
		out.Lease, err = s.leaseOrWait(ctx, p, r)
	}
	switch {
	case errors.Is(err, errWaited):
		err = nil
	case errors.Is(err, errUnpaired) || errors.Is(context.Cause(ctx), errUnpaired):
		out.Directives, err = append(out.Directives, DirectiveUnpaired), nil
	case errors.Is(err, errSuperseded): // in the middle of a store's call
		err = ended(ctx)
	}
	return out, err
}

// errUnpaired ends the held calls of a runner that was unpaired meanwhile.
var errUnpaired = errors.New("the runner was unpaired")

// machine refuses callers that are no paired runner.
func (s *Service) machine(p hub.Principal) error {
	switch {
	case p.Kind != hub.KindRunner:
		return hub.Errorf(hub.PermissionDenied, "this is for runners").WithHint("pair the machine: `runnerctl pair`")
	case len(p.Secret) == 0: // leases would have nonces that anybody can compute
		return hub.Errorf(hub.Internal, "the runner's principal carries no secret")
	case !p.Runner.RevokedAt.IsZero():
		return hub.Errorf(hub.Unauthenticated, "this runner was unpaired").WithHint("pair it again: `runnerctl pair`")
	}
	return nil
}

func checkLease(r LeaseRequest) error {
	switch {
	case len(r.RequestID) > 64 || !printable(r.RequestID):
		return hub.Errorf(hub.InvalidArgument, "request_id needs 1 to 64 printable ASCII characters").
			WithHint("send a fresh UUID for each new lease, and the same one when you repeat the call")
	case r.Presence.Slots < 0 || r.Presence.FreeSlots < 0:
		return hub.Errorf(hub.InvalidArgument, "slots and free_slots cannot be negative")
	case len(r.Presence.StatusText) > maxReason:
		return hub.Errorf(hub.InvalidArgument, "status.text has %d bytes and may have %d", len(r.Presence.StatusText), maxReason)
	}
	return nil
}

// cleaned bounds the words of a machine that are stored and shown.
func cleaned(p hub.Presence) hub.Presence {
	for _, s := range []*string{&p.OS, &p.Arch, &p.Version, &p.StatusText, &p.StatusLevel} {
		*s = bound(*s, maxReason)
	}
	return p
}

// sameAgain finds the lease that an earlier call with the same id got.
func (s *Service) sameAgain(ctx context.Context, p hub.Principal, requestID string) (*Lease, error) {
	held, err := s.store.LiveOfRunner(ctx, p.Runner.ID)
	if err != nil {
		return nil, err
	}
	for _, j := range held {
		if j.LeaseRequestID != requestID {
			continue
		}
		proof := proofOf(p.Secret, requestID, j.ID, j.Attempt, j.Epoch)
		if j.Fence(proof) != nil { // another token's: the runner was paired anew
			continue
		}
		payload, err := s.store.GetPayload(ctx, j.ID)
		if err != nil {
			return nil, err
		}
		return s.lease(p, j, payload, proof), nil
	}
	return nil, nil
}

// proofOf derives a lease's nonce: the same request gets the same one, though
// only its digest is stored.
func proofOf(secret hub.Secret, requestID, jobID string, attempt int, epoch int64) hub.Proof {
	return hub.Proof{
		Attempt: attempt, Epoch: epoch,
		Nonce: pairing.Derive(pairing.LeaseToken, secret, requestID, jobID, strconv.Itoa(attempt), strconv.FormatInt(epoch, 10)),
	}
}

// logToken derives the capability of an attempt's log.
func logToken(secret hub.Secret, jobID string, proof hub.Proof) string {
	return pairing.Derive(pairing.Capability, secret, "log", jobID, strconv.Itoa(proof.Attempt), proof.Nonce)
}

func (s *Service) lease(p hub.Principal, j hub.Job, payload hub.JobPayload, proof hub.Proof) *Lease {
	now := s.clock.now()
	left := func(t time.Time) time.Duration { return max(0, t.Sub(now)) }
	l := &Lease{
		JobID: j.ID, Owner: j.Owner, Proof: proof, TTL: s.policy.LeaseTTL, Heartbeat: s.policy.Heartbeat,
		FirstHeartbeat: min(s.policy.FirstHeartbeat, left(j.LeaseExpiresAt)), Deadline: left(j.DeadlineAt),
		Timeout: min(payload.Timeout, left(j.DeadlineAt)), LogLimit: s.policy.MaxLogBytes,
		MaxArtifacts: s.policy.MaxArtifacts, ArtifactBytes: s.policy.MaxArtifactBytes,
		Spec: runnersSpec(j, payload.Spec), LogToken: logToken(p.Secret, j.ID, proof),
		// What one member's job leaves is not run by another's, and not read: members of a workspace need not trust each other so far.
		CacheOwner: j.WorkspaceID + "/" + payload.SubmittedBy,
	}
	if archiveOf(payload.Spec) != nil {
		l.SourceToken = sourceToken(hub.Digest(proof.Nonce), j.ID, proof.Attempt)
	}
	return l
}

// leaseOrWait takes a job of the runner's queues, or waits for one.
func (s *Service) leaseOrWait(ctx context.Context, p hub.Principal, r LeaseRequest) (_ *Lease, err error) {
	w := s.waiters.add(p.Runner)
	w.caller, w.requestID = p, r.RequestID
	var took string
	defer func() {
		for _, a := range s.waiters.leave(w, took) {
			s.arrived(a)
		}
	}()
	end := time.NewTimer(max(0, min(r.Wait, s.maxWait)))
	defer end.Stop()
	for first := true; ; first = false {
		handed := s.waiters.look(w)
		var lease *Lease
		if !first || !s.waiters.knownEmpty(w) {
			lease, err = s.take(ctx, p, w, handed, r.RequestID)
		}
		if err != nil {
			return nil, err
		}
		if lease != nil {
			took = lease.JobID
			return lease, nil
		}
		s.waiters.looked(w)
		slept := s.sleep(ctx, w, end)
		lease, err = s.collect(ctx, p, w, r.RequestID)
		if lease != nil && err == nil {
			took = lease.JobID
			return lease, nil
		}
		if err := cmp.Or(err, slept); err != nil {
			return nil, err
		}
	}
}

// sleep holds the call until it is woken. runLooks makes up for lost wake-ups.
func (s *Service) sleep(ctx context.Context, w *waiter, end *time.Timer) error {
	if isDraining(s.draining) {
		return errDraining()
	}
	select {
	case <-w.ch:
		return nil
	case <-end.C:
		return errWaited
	case <-s.draining:
		return errDraining()
	case <-ctx.Done():
		return ended(ctx)
	}
}
