package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

var system = hub.Principal{Kind: hub.KindSystem}

// maxParked is the longest between two looks at the queues.
const maxParked = 10 * time.Second

// runSweep looks every Policy.Sweep at the attempts whose clocks may have run
// out, and more rarely at the queues, which are longer and in less of a hurry. One hub does it at a time, and another one
// within leader.ttl and one sweep after that one's end.
func (s *Service) runSweep(ctx context.Context) {
	defer s.resign(ctx)
	parked := max(s.policy.Sweep, min(maxParked, s.policy.NoRunnerTimeout/10))
	var last time.Time
	for pause(ctx, s.policy.Sweep) {
		err := s.syncClock(ctx)
		if err == nil {
			err = s.sweepLive(ctx, s.lead)
		}
		if err == nil && time.Since(last) >= parked && s.Leads() {
			last = time.Now()
			err = errors.Join(s.sweepQueued(ctx, s.lead), s.sweepExecs(ctx))
		}
		if err != nil && ctx.Err() == nil {
			s.log.Warn("a sweep was not finished", "error", err)
		}
	}
}

// permit says whether a sweep may go on. It is asked before every page.
type permit func(context.Context) (bool, error)

func always(context.Context) (bool, error) { return true, nil }

// Sweep ends or queues again the attempts whose clocks ran out, and rejects jobs
// that have waited too long for a runner. Run does it by itself, on one hub at a time; several may at once, since each
// decision is one guarded write.
func (s *Service) Sweep(ctx context.Context) error {
	if err := s.syncClock(ctx); err != nil {
		return err
	}
	return errors.Join(s.sweepLive(ctx, always), s.sweepQueued(ctx, always), s.sweepExecs(ctx))
}

// syncClock measures how far the local clock is from the store's, and whether the store is in reach.
func (s *Service) syncClock(ctx context.Context) error {
	before := time.Now()
	now, err := s.store.Now(ctx)
	if err != nil {
		s.clock.lostReach()
		return err
	}
	s.clock.seen(now, before, time.Now())
	return nil
}

// sweepLive looks at the clocks of every live attempt.
func (s *Service) sweepLive(ctx context.Context, may permit) error {
	var failed error
	for after := ""; ; {
		if ok, err := may(ctx); !ok || err != nil {
			return errors.Join(failed, err)
		}
		jobs, err := s.store.ListLive(ctx, after, page)
		if err != nil {
			return errors.Join(failed, err)
		}
		for _, l := range jobs {
			if err := s.sweepOne(ctx, l); err != nil {
				failed = err // the others' clocks run too
			}
		}
		if len(jobs) < page {
			return failed
		}
		after = jobs[len(jobs)-1].Job.ID
	}
}

func (s *Service) sweepOne(ctx context.Context, l hub.LiveJob) error {
	d := hub.Expire(l.Job, l.Payload, l.Revoked, s.clock.now())
	if d.Unchanged {
		return nil
	}
	// After an outage runners get one TTL to be heard again: their silence may have been the hub's.
	lost := d.EndAttempt != nil && d.EndAttempt.State == hub.AttemptLost
	if lost && !l.Revoked && s.clock.reachable() < s.policy.LeaseTTL {
		return nil
	}
	err := s.apply(ctx, system, d, l.Payload, caps{})
	if errors.Is(err, hub.ErrConflict) {
		return nil // it moved: its clocks are others now
	}
	return err
}

// sweepQueued rejects jobs that no runner can take: those of a runner that is gone at once, the others when
// they have waited too long.
func (s *Service) sweepQueued(ctx context.Context, may permit) error {
	now := s.clock.now()
	keys, err := s.store.QueueKeys(ctx, now.Add(s.policy.LeaseTTL)) // all of them; clocks may differ
	if err != nil {
		return err
	}
	old, err := s.store.QueueKeys(ctx, now.Add(-s.policy.NoRunnerTimeout))
	if err != nil {
		return err
	}
	var failed error
	for _, k := range keys {
		if _, named := k.Split(); named != "" || slices.Contains(old, k) {
			if err := s.sweepQueue(ctx, k, may); err != nil {
				failed = err
			}
		}
	}
	return failed
}

func (s *Service) sweepQueue(ctx context.Context, k hub.QueueKey, may permit) error {
	runners, err := s.runnersOf(ctx, k)
	if err != nil {
		return err
	}
	_, id := k.Split()
	gone := id != "" && (len(runners) == 0 || !runners[0].RevokedAt.IsZero())
	var after *hub.QueuePos
	for {
		if ok, err := may(ctx); !ok || err != nil {
			return err
		}
		jobs, err := s.store.ListQueued(ctx, k, after, page)
		if err != nil {
			return err
		}
		for _, q := range jobs {
			if err := s.sweepJob(ctx, q, runners, gone); err != nil {
				return err
			}
		}
		if len(jobs) < page {
			return nil
		}
		after = &hub.QueuePos{Rank: jobs[len(jobs)-1].Job.Rank, ID: jobs[len(jobs)-1].Job.ID}
	}
}

func (s *Service) sweepJob(ctx context.Context, q hub.QueuedJob, runners []hub.Runner, gone bool) error {
	now := s.clock.now()
	var f hub.Failure
	switch since := hub.NoRunnerSince(q.Job, demandOf(q.Payload), runners, s.startedAt(), now, s.policy); {
	case gone:
		f = hub.Failure{
			Class: hub.ClassNoRunner, Message: "the runner that the job was for was unpaired",
			Hint: "Submit it again to another target; list_runners shows yours.",
		}
	case !since.IsZero() && now.Sub(since) >= s.policy.NoRunnerTimeout:
		f = hub.Failure{
			Class:   hub.ClassNoRunner,
			Message: fmt.Sprintf("no runner that could take it was online for %s", s.policy.NoRunnerTimeout),
			Hint:    "Start one with `runnerctl run`; explain_job says what each runner lacks.",
		}
	default:
		return nil
	}
	d, err := hub.Reject(q.Job, f, now)
	if err == nil {
		err = s.apply(ctx, system, d, q.Payload, caps{})
	}
	if errors.Is(err, hub.ErrConflict) {
		return nil
	}
	return err
}

// RunnerRevoked tells that a runner was just unpaired through this hub: its held
// calls end, its attempts are lost and its own queue is rejected now instead of at the next sweep.
func (s *Service) RunnerRevoked(ctx context.Context, r hub.Runner) {
	s.requests.endOf(r.ID, errUnpaired)
	err := s.dropRunner(ctx, r)
	if err != nil {
		s.log.Warn("an unpaired runner's jobs are left to the sweep", "runner", r.ID, "error", err)
	}
}

func (s *Service) dropRunner(ctx context.Context, r hub.Runner) error {
	held, err := s.store.LiveOfRunner(ctx, r.ID)
	if err != nil {
		return err
	}
	for _, j := range held {
		payload, err := s.recent.payload(ctx, s.store, j.ID)
		if err != nil {
			return err
		}
		if err := s.sweepOne(ctx, hub.LiveJob{Job: j, Payload: payload, Revoked: true}); err != nil {
			return err
		}
	}
	return s.sweepQueue(ctx, hub.NewQueueKey(r.Owner, r.ID), always)
}
