package dispatch

import (
	"context"

	"github.com/runnerhub/runnerhub/hub"
)

// handoff is a job on its way to a call that waits. The call is claimed before the job is stored, so that the job and
// its lease are one write: who submits waits for one commit, and so does who gets the job.
type handoff struct {
	w     *waiter
	d     hub.Decision
	proof hub.Proof
}

// claim finds a call that waits for a job which is about to be stored, and decides on the lease; nil when there is none. Whose
// turn it is in a concurrency group is found out in the queue.
func (s *Service) claim(q hub.QueuedJob) *handoff {
	if q.Job.Group != "" {
		return nil
	}
	w := s.waiters.claim(arrivalOf(q), q.Job.WorkspaceID)
	if w == nil {
		return nil
	}
	d, proof, err := s.decideLease(w.caller, q, w.requestID)
	if err != nil || d.Job.State != hub.JobLeased {
		s.waiters.resolve(w, nil, false)
		return nil
	}
	return &handoff{w, d, proof}
}

// handoffChange is what is written with the job, nil where nobody was claimed for it.
func (s *Service) handoffChange(h *handoff, payload hub.JobPayload) *hub.Change {
	if h == nil {
		return nil
	}
	c := s.change(h.w.caller, h.d, payload, s.leaseCaps())
	return &c
}

// handed ends a handoff: the call gets its lease, or goes on waiting. got is the job as it was stored.
func (s *Service) handed(h *handoff, got hub.Job, payload hub.JobPayload, err error) (leased bool) {
	switch {
	case h == nil:
		return false
	case err != nil: // perhaps written all the same: the call asks
		s.waiters.resolve(h.w, nil, true)
		return false
	case got.ID != h.d.Job.ID || got.State != hub.JobLeased:
		s.waiters.resolve(h.w, nil, false)
		return false
	}
	s.applied(h.d, payload)
	s.looks.add(s.waiters.freed(got)...)
	s.waiters.resolve(h.w, s.lease(h.w.caller, h.d.Job, payload, h.proof), false)
	return true
}

// collect takes what was handed to a call while it slept; nil for nothing. A call that has gone gives it back.
func (s *Service) collect(ctx context.Context, p hub.Principal, w *waiter, requestID string) (*Lease, error) {
	lease, unsure := s.waiters.collect(w)
	if unsure {
		return s.sameAgain(ctx, p, requestID)
	}
	if lease == nil {
		return nil, nil
	}
	return lease, s.undelivered(ctx, p, lease.JobID, lease.Proof)
}

// claim sets aside a call that could have a new job at once: it has found its queues empty and sleeps. Of an owner or a
// workspace that was at its cap nobody is claimed: there are others in the queue.
func (ws *waiters) claim(a arrival, workspaceID string) *waiter {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	owner, _ := a.key.Split()
	if ws.capped[capKey{owner: owner}] || ws.capped[capKey{owner, workspaceID}] {
		return nil
	}
	w := ws.best(a, func(w *waiter) bool { return w.idle })
	if w != nil {
		w.claimed = true
	}
	return w
}

// resolve ends a claim, with a lease or without, and wakes the call. unsure says that nobody knows which.
func (ws *waiters) resolve(w *waiter, l *Lease, unsure bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w.claimed, w.lease, w.unsure = false, l, unsure
	w.wake()
}

// collect waits until nobody claims the call and takes what it was given.
func (ws *waiters) collect(w *waiter) (l *Lease, unsure bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for w.claimed { // for as long as a write takes
		ws.mu.Unlock()
		<-w.ch
		ws.mu.Lock()
	}
	w.idle = false // and is not claimed again
	l, unsure = w.lease, w.unsure
	w.lease, w.unsure = nil, false
	return l, unsure
}
