package memory

import (
	"bytes"
	"context"
	"fmt"

	"github.com/runnerhub/runnerhub/hub"
)

// Apply implements hub.JobStore.
func (s *Store) Apply(ctx context.Context, c hub.Change) error {
	if c.Unchanged {
		return nil
	}
	return s.write(ctx, func() error { return s.apply(c) })
}

func (s *Store) apply(c hub.Change) error {
	r := s.jobs[c.Job.ID]
	if r == nil || (hub.Guard{State: r.job.State, Epoch: r.job.Epoch, Revision: r.job.Revision}) != c.Guard {
		return hub.ErrConflict
	}
	next := storedJob(c.Job)
	now := r.attempt(c.Job.Attempt)
	if err := s.check(r, c, next, now); err != nil {
		return err
	}
	s.unindex(r)
	r.job = next
	s.index(r)
	if c.Started {
		now.State, now.StartedAt = hub.AttemptRunning, next.StartedAt
	}
	if e := c.EndAttempt; e != nil {
		now.State, now.EndedAt, now.Failure = e.State, stored(e.At), copyFailure(e.Failure)
		now.ReportDigest, now.Result = bytes.Clone(e.ReportDigest), bytes.Clone(e.Result)
	}
	if c.NewAttempt != nil {
		a := &attempt{Attempt: copyAttempt(*c.NewAttempt)}
		a.LeasedAt, a.StartedAt = stored(a.LeasedAt), stored(a.StartedAt)
		r.attempts = append(r.attempts, a)
		if len(a.LogDigest) > 0 {
			s.logs[string(a.LogDigest)] = a
		}
	}
	if c.Action != "" {
		e := c.Event
		e.Action, e.Detail = c.Action, c.Detail
		s.record(e)
	}
	return nil
}

// check looks whether a decision can be written whole. now is the attempt that it is about.
func (s *Store) check(r *row, c hub.Change, next hub.Job, now *attempt) error {
	if err := checkJob(next); err != nil {
		return err
	}
	if c.Started && (now == nil || now.State != hub.AttemptLeased) {
		return hub.ErrConflict
	}
	if c.EndAttempt != nil && (now == nil || !now.State.Live()) {
		return hub.ErrConflict
	}
	if c.NewAttempt == nil {
		return nil
	}
	if err := s.checkShare(c, next); err != nil {
		return err
	}
	if n := len(r.attempts); n > 0 {
		last := r.attempts[n-1]
		if last.Number >= c.NewAttempt.Number {
			return taken()
		}
		if last.State.Live() && (c.EndAttempt == nil || last != now) {
			return fmt.Errorf("memory: job %s would have two live attempts", next.ID)
		}
	}
	if len(c.NewAttempt.LogDigest) > 0 && s.logs[string(c.NewAttempt.LogDigest)] != nil {
		return taken()
	}
	return nil
}

// running counts the live attempts of an owner.
func (s *Store) running(o hub.Owner) int {
	n := 0
	for _, of := range s.counts[o] {
		n += of
	}
	return n
}
