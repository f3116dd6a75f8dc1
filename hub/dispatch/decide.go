package dispatch

import (
	"context"
	"errors"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// maxTries bounds how often a decision is made again because somebody else
// wrote first. Each conflict means that another call got on, so more than a few are a fault.
const maxTries = 16

// decider is a pure function of package hub with its arguments bound.
type decider func(hub.Job, hub.JobPayload) (hub.Decision, error)

// decide takes a job as it is remembered or else read, decides, and writes the decision, again while others write in
// between.
func (s *Service) decide(ctx context.Context, jobID string, p hub.Principal, f decider) (hub.Decision, error) {
	if !printable(jobID) {
		return hub.Decision{}, noJob(jobID)
	}
	payload, err := s.recent.payload(ctx, s.store, jobID)
	if err != nil {
		return hub.Decision{}, err
	}
	for try := range maxTries {
		j, remembered := s.recent.job(jobID)
		if remembered = remembered && try == 0; !remembered {
			if j, err = s.store.GetJob(ctx, jobID); err != nil {
				return hub.Decision{}, err
			}
			if j.State.Ended() { // by another hub
				s.recent.forget(jobID)
			}
		}
		d, err := f(j, payload)
		if remembered && (err != nil || d.Unchanged) {
			continue // perhaps not if one looks
		}
		if err == nil && !d.Unchanged {
			err = s.apply(ctx, p, d, payload, caps{})
		}
		if !errors.Is(err, hub.ErrConflict) {
			return d, err
		}
		if err := ctx.Err(); err != nil {
			return hub.Decision{}, err
		}
	}
	return hub.Decision{}, errBusy()
}

func errBusy() error {
	e := hub.Errorf(hub.Unavailable, "the job changed too often while this was decided").WithHint("call again")
	e.Retryable, e.RetryAfter = true, 100*time.Millisecond
	return e
}

// caps are the bounds on live attempts that a lease is written under; 0 is none.
type caps struct{ running, perWorkspace int }

// apply writes a decision and wakes whoever it concerns.
func (s *Service) apply(ctx context.Context, p hub.Principal, d hub.Decision, payload hub.JobPayload, c caps) error {
	if err := s.store.Apply(ctx, s.change(p, d, payload, c)); err != nil {
		return err
	}
	s.applied(d, payload)
	return nil
}

// change is a decision with the event that tells of it.
func (s *Service) change(p hub.Principal, d hub.Decision, payload hub.JobPayload, c caps) hub.Change {
	now := s.clock.now()
	runner := d.Job.LeaseRunnerID
	if runner == "" {
		runner = d.Job.RunnerID
	}
	e := hub.Event{
		Time: now, Actor: p.Actor(), Address: p.Address, Owner: d.Job.Owner, WorkspaceID: d.Job.WorkspaceID,
		JobID: d.Job.ID, Attempt: d.Job.Attempt, RunnerID: runner,
	}
	if p.Kind == hub.KindRunner {
		e.RunnerID = p.Runner.ID
	}
	if by := "user:" + payload.SubmittedBy; payload.SubmittedBy != "" && by != e.Actor {
		e.OnBehalfOf = by
	}
	return hub.Change{Decision: d, Event: e, MaxRunning: c.running, MaxRunningPerWorkspace: c.perWorkspace}
}

func (s *Service) applied(d hub.Decision, payload hub.JobPayload) {
	if d.Action != "" {
		s.changed(d.Job.ID, d.Job.State.Ended() || d.Action == hub.ActCancelRequested || d.Action == hub.ActJobHeld)
	}
	s.recent.wrote(d.Job, payload)
	if d.Guard.State == hub.JobQueued {
		s.waiters.left(d.Job.QueueKey(), d.Job.ID)
	}
	if d.EndAttempt != nil {
		s.looks.add(s.waiters.freed(d.Job)...)
		if d.Job.Group != "" {
			s.looks.addGroup(d.Job.GroupKey())
		}
	}
	if d.Requeued {
		s.arrived(arrivalOf(hub.QueuedJob{Job: d.Job, Payload: payload}))
	}
}
