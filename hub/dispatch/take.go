package dispatch

import (
	"context"
	"errors"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// commitTimeout bounds a write that is no longer bound to its caller.
const commitTimeout = 10 * time.Second

// What a lease was refused for: the owner, or the workspace on that owner's runners, may not run more at once.
var (
	errCapped = errors.New("the owner runs as many jobs as it may")
	errShared = errors.New("the workspace runs as many jobs as it may on the owner's runners")
)

// take takes a job that a call was woken for, or else looks through the runner's queues in order, its own first, and
// takes the first that it can; nil when there is none.
func (s *Service) take(ctx context.Context, p hub.Principal, w *waiter, handed []arrival, requestID string) (*Lease, error) {
	// The call had found its queues empty, so that what has come since is first in them.
	for _, a := range handed {
		if a.shared {
			continue
		}
		lease, err := s.tryTake(ctx, p, a.job, requestID)
		switch {
		case errors.Is(err, errCapped):
			return nil, nil
		case errors.Is(err, errShared) || errors.Is(err, hub.ErrGroupBusy):
		case err != nil || lease != nil:
			return lease, err
		}
	}
	for _, key := range w.keys {
		lease, err := s.takeFrom(ctx, p, key, requestID)
		if errors.Is(err, errCapped) {
			return nil, nil // both queues are the same owner's
		}
		if err != nil || lease != nil {
			return lease, err
		}
	}
	return nil, nil
}

// takeFrom takes a job of one queue: the first by rank or, where workspaces share the queue, the first of the
// workspace whose turn it is.
func (s *Service) takeFrom(ctx context.Context, p hub.Principal, key hub.QueueKey, requestID string) (*Lease, error) {
	if s.waiters.isEmpty(key) {
		return nil, nil
	}
	if lease, err := s.takeShelved(ctx, p, key, requestID); err != nil || lease != nil {
		return lease, err
	}
	head, order, err := s.readHead(ctx, key)
	if err != nil || len(head) == 0 {
		return nil, err
	}
	off := newObstacles()
	if order == nil {
		return s.walk(ctx, p, off, requestID, head, func(after *hub.QueuePos) ([]hub.QueuedJob, error) {
			return s.store.ListQueued(ctx, key, after, page)
		})
	}
	for _, share := range order {
		next := func(after *hub.QueuePos) ([]hub.QueuedJob, error) {
			return s.store.ListQueuedOf(ctx, key, share.WorkspaceID, after, page)
		}
		jobs, err := next(nil)
		if err != nil {
			return nil, err
		}
		lease, err := s.walk(ctx, p, off, requestID, jobs, next)
		if lease != nil {
			s.shares.served(key, share.WorkspaceID)
		}
		if err != nil || lease != nil {
			return lease, err
		}
	}
	return nil, nil
}

// readHead reads a queue's first page, and the order of the workspaces that share it where several do; see sharesOf.
func (s *Service) readHead(ctx context.Context, key hub.QueueKey) (head []hub.QueuedJob, order []hub.Share, err error) {
	began := s.waiters.beginLook()
	shelf := s.waiters.fill(key, s.clock.local())
	var first []hub.QueuedJob
	defer func() { s.waiters.filled(key, shelf, first, s.clock.local()) }()
	if head, err = s.store.ListQueued(ctx, key, nil, page); err != nil {
		return nil, nil, err
	}
	if len(head) == 0 {
		s.waiters.foundEmpty(key, began)
		return nil, nil, nil
	}
	if order, err = s.sharesOf(ctx, key, head); err == nil && order == nil && shelvable(head) {
		first = head
	}
	return head, order, err
}

// walk tries a page of jobs and those that follow it, until one can be had.
func (s *Service) walk(ctx context.Context, p hub.Principal, off *obstacles, requestID string, jobs []hub.QueuedJob,
	next func(after *hub.QueuePos) ([]hub.QueuedJob, error),
) (*Lease, error) {
	for {
		if err := off.look(ctx, s.store, jobs); err != nil {
			return nil, err
		}
		for _, q := range jobs {
			if off.bars(q.Job) {
				if err := s.clear(ctx, system, off, q); err != nil {
					return nil, err
				}
				continue
			}
			lease, err := s.tryTake(ctx, p, q, requestID)
			switch {
			case errors.Is(err, errShared):
				off.full[q.Job.WorkspaceID] = true
			case errors.Is(err, hub.ErrGroupBusy):
				off.hold(q.Job)
			case err != nil || lease != nil:
				return lease, err
			}
		}
		if len(jobs) < page {
			return nil, nil
		}
		last := jobs[len(jobs)-1].Job
		if off.full[last.WorkspaceID] { // what follows is the same workspace's, or the queue would be shared out
			return nil, nil
		}
		var err error
		if jobs, err = next(&hub.QueuePos{Rank: last.Rank, ID: last.ID}); err != nil {
			return nil, err
		}
	}
}

// tryTake leases one job; nil and no error when it is not for this runner or in other hands.
func (s *Service) tryTake(ctx context.Context, p hub.Principal, q hub.QueuedJob, requestID string) (*Lease, error) {
	a := arrivalOf(q)
	if !a.suits(p.Runner) || !s.waiters.reserve(q.Job.ID) {
		return nil, nil
	}
	return s.takeReserved(ctx, p, q, requestID)
}

// takeReserved is tryTake of a job that was set aside for this call.
func (s *Service) takeReserved(ctx context.Context, p hub.Principal, q hub.QueuedJob, requestID string) (*Lease, error) {
	lease, err := s.leaseNow(ctx, p, q, requestID)
	s.waiters.unreserve(q.Job.ID)
	if errors.Is(err, hub.ErrConflict) {
		s.waiters.contested(q.Job.QueueKey(), s.clock.local())
	}
	switch {
	case err == nil || errors.Is(err, errCapped) || errors.Is(err, errShared) || errors.Is(err, hub.ErrGroupBusy):
		return lease, err
	case errors.Is(err, hub.ErrConflict) || errors.Is(err, hub.ErrSkip):
		return nil, nil // another hub has it, or it ended: the next one, then
	}
	// While it was reserved nobody else of this hub looked at it.
	s.arrived(arrivalOf(q))
	return nil, err
}

func (s *Service) leaseNow(ctx context.Context, p hub.Principal, q hub.QueuedJob, requestID string) (*Lease, error) {
	payload := q.Payload
	if payload.Spec == nil {
		payload.Spec = s.recent.spec(q.Job.ID)
	}
	if payload.Spec == nil { // without it nothing can be promised
		var err error
		if payload, err = s.store.GetPayload(ctx, q.Job.ID); err != nil {
			return nil, err
		}
	}
	q.Payload = payload
	d, proof, err := s.decideLease(p, q, requestID)
	if err != nil {
		return nil, err
	}
	// The last moment at which a caller that went away costs nothing.
	if err := ended(ctx); err != nil {
		return nil, err
	}
	rejected := d.Job.State.Ended()
	limit := s.leaseCaps()
	if rejected {
		limit = caps{}
	}
	// From here on it is all or nothing, and not the caller's to interrupt.
	commit, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	err = s.apply(commit, p, d, payload, limit)
	switch {
	case errors.Is(err, hub.ErrRevoked): // while the call was held
		return nil, errUnpaired
	case hub.CodeOf(err) == hub.QuotaExceeded:
		return nil, s.capped(q.Job, err)
	case err != nil:
		return nil, err
	case rejected:
		return nil, nil
	}
	s.looks.add(s.waiters.freed(q.Job)...)
	if err := s.undelivered(ctx, p, q.Job.ID, proof); err != nil {
		return nil, err
	}
	return s.lease(p, d.Job, payload, proof), nil
}

// leaseCaps are the bounds that a lease is written under.
func (s *Service) leaseCaps() caps { return caps{s.policy.MaxRunning, s.policy.MaxRunningPerWorkspace} }

// decideLease decides on a job's lease to the runner p.
func (s *Service) decideLease(p hub.Principal, q hub.QueuedJob, requestID string) (hub.Decision, hub.Proof, error) {
	proof := proofOf(p.Secret, requestID, q.Job.ID, q.Job.Attempt+1, q.Job.Epoch+1)
	d, err := hub.Lease(q.Job, q.Payload, hub.LeaseGrant{
		Runner: p.Runner, RequestID: requestID, Digest: hub.Digest(proof.Nonce),
		LogDigest: hub.Digest(logToken(p.Secret, q.Job.ID, proof)), Denied: denied(p.Runner, q.Payload),
	}, s.clock.now(), s.policy)
	return d, proof, err
}

// undelivered gives a lease back when nobody is there any more to get it. A repeat of the call, though, finds it.
func (s *Service) undelivered(ctx context.Context, p hub.Principal, jobID string, proof hub.Proof) error {
	err := ended(ctx)
	if err == nil || errors.Is(context.Cause(ctx), errSuperseded) {
		return nil
	}
	commit, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	s.giveBack(commit, p, jobID, proof)
	return err
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

// capped notes which cap a lease was refused over.
func (s *Service) capped(j hub.Job, refused error) error {
	if e, ok := errors.AsType[*hub.Error](refused); ok && e.Details["cap"] == hub.CapWorkspace {
		s.waiters.atCap(capKey{j.Owner, j.WorkspaceID})
		return errShared
	}
	s.waiters.atCap(capKey{owner: j.Owner})
	return errCapped
}
