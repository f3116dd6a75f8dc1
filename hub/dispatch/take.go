package dispatch

import (
	"context"
	"errors"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// commitTimeout bounds a write that is no longer bound to its caller.
const commitTimeout = 10 * time.Second

// errCapped says that the owner may not run more at once.
var errCapped = errors.New("the owner runs as many jobs as it may")

// take looks through the runner's queues in order, its own first, and takes the
// first job that it can; nil when there is none.
func (s *Service) take(ctx context.Context, p hub.Principal, w *waiter, requestID string) (*Lease, error) {
	for _, key := range w.keys {
		var after *hub.QueuePos
		for {
			jobs, err := s.store.ListQueued(ctx, key, after, page)
			if err != nil {
				return nil, err
			}
			for _, q := range jobs {
				lease, err := s.tryTake(ctx, p, q, requestID)
				if errors.Is(err, errCapped) {
					return nil, nil // both queues are the same owner's
				}
				if err != nil || lease != nil {
					return lease, err
				}
			}
			if len(jobs) < page {
				break
			}
			last := jobs[len(jobs)-1].Job
			after = &hub.QueuePos{Rank: last.Rank, ID: last.ID}
		}
	}
	return nil, nil
}

// tryTake leases one job; nil and no error when it is not for this runner or in other hands.
func (s *Service) tryTake(ctx context.Context, p hub.Principal, q hub.QueuedJob, requestID string) (*Lease, error) {
	a := arrivalOf(q)
	if !a.suits(p.Runner) || !s.waiters.reserve(q.Job.ID) {
		return nil, nil
	}
	lease, err := s.leaseNow(ctx, p, q, requestID)
	s.waiters.unreserve(q.Job.ID)
	switch {
	case err == nil || errors.Is(err, errCapped):
		return lease, err
	case errors.Is(err, hub.ErrConflict) || errors.Is(err, hub.ErrSkip):
		return nil, nil // another hub has it, or it ended: the next one, then
	}
	// While it was reserved nobody else of this hub looked at it.
	s.arrived(a)
	return nil, err
}

func (s *Service) leaseNow(ctx context.Context, p hub.Principal, q hub.QueuedJob, requestID string) (*Lease, error) {
	payload, err := s.store.GetPayload(ctx, q.Job.ID) // with the spec, before anything is promised
	if err != nil {
		return nil, err
	}
	proof := proofOf(p.Secret, requestID, q.Job.ID, q.Job.Attempt+1, q.Job.Epoch+1)
	d, err := hub.Lease(q.Job, payload, hub.LeaseGrant{
		Runner: p.Runner, RequestID: requestID, Digest: hub.Digest(proof.Nonce),
		LogDigest: hub.Digest(logToken(p.Secret, q.Job.ID, proof)),
	}, s.clock.now(), s.policy)
	if err != nil {
		return nil, err
	}
	// The last moment at which a caller that went away costs nothing.
	if err := ended(ctx); err != nil {
		return nil, err
	}
	rejected := d.Job.State.Ended()
	limit := s.policy.MaxRunning
	if rejected {
		limit = 0
	}
	// From here on it is all or nothing, and not the caller's to interrupt.
	commit, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	err = s.apply(commit, p, d, payload, limit)
	switch {
	case hub.CodeOf(err) == hub.QuotaExceeded:
		s.waiters.atCap(q.Job.Owner)
		return nil, errCapped
	case err != nil:
		return nil, err
	case rejected:
		return nil, nil
	}
	s.looks.add(s.waiters.freed(q.Job.Owner)...)
	// Nobody is there to get it: give it back at once. A repeat of the call, though, finds it.
	if err := ended(ctx); err != nil && !errors.Is(context.Cause(ctx), errSuperseded) {
		s.giveBack(commit, p, q.Job.ID, proof)
		return nil, err
	}
	return s.lease(p, d.Job, payload, proof), nil
}

// giveBack undoes a lease that was never delivered. Where that fails, the missing first heartbeat does it.
func (s *Service) giveBack(ctx context.Context, p hub.Principal, jobID string, proof hub.Proof) {
	_, err := s.decide(ctx, jobID, p, func(j hub.Job, _ hub.JobPayload) (hub.Decision, error) {
		return hub.Release(j, proof, "the lease could not be delivered", s.clock.now())
	})
	if err != nil {
		s.log.Warn("a lease that could not be delivered was not given back", "job", jobID, "error", err)
	}
}
