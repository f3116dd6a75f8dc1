package dispatch

import (
	"context"
	"errors"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// Retention is in no hurry: it takes small bites and rests for three times as long as each took, so that the
// queue has the store to itself for most of the time.
const (
	retainJobs  = 50  // looked at, and at most deleted, in one transaction
	retainKeys  = 500 // idempotency keys looked at in one transaction
	retainRest  = 3   // rest for so many times the work
	retainEvery = 10 * time.Minute
)

// runRetention deletes what is too old to be kept, from time to time, while this hub leads.
func (s *Service) runRetention(ctx context.Context) {
	if s.policy.Retention <= 0 {
		<-ctx.Done()
		return
	}
	for pause(ctx, max(time.Second, min(retainEvery, s.policy.Retention/48))) {
		if !s.Leads() {
			continue
		}
		n, err := s.retain(ctx, s.Leads)
		if n > 0 {
			s.log.Info("deleted old jobs", "jobs", n, "ended more than", s.policy.Retention)
		}
		if err != nil && ctx.Err() == nil {
			s.log.Warn("not all old jobs were deleted; the next round goes on", "error", err)
		}
	}
}

// Retain deletes every job that ended longer than Policy.Retention ago, with its attempts, result, events and
// log, and answers how many it were. Run does it by itself, on one hub at a time. It is
// safe to kill at any moment: what it left the next call finds.
func (s *Service) Retain(ctx context.Context) (int, error) {
	return s.retain(ctx, func() bool { return true })
}

// retain goes on while may says so. The order makes it safe to kill: a key goes before its job, or it would
// answer for a job that is not there; the bytes of a log go before the rows that name them, or nothing would.
func (s *Service) retain(ctx context.Context, may func() bool) (deleted int, err error) {
	if s.policy.Retention <= 0 {
		return 0, nil
	}
	// A log may grow until its grace is over.
	before := s.clock.now().Add(-max(s.policy.Retention, s.policy.LogGrace+time.Minute))
	var failed error
	for after := (hub.KeyPos{}); may(); {
		began := time.Now()
		after, err = s.store.DeleteKeys(ctx, before, after, retainKeys)
		if err != nil || !rest(ctx, began) {
			return 0, errors.Join(err, ctx.Err())
		}
		if after == (hub.KeyPos{}) {
			break
		}
	}
	for after := ""; may(); {
		began := time.Now()
		ids, next, err := s.store.EndedBefore(ctx, before, after, retainJobs)
		if err != nil {
			return deleted, errors.Join(failed, err)
		}
		gone := make([]string, 0, len(ids))
		for _, id := range ids {
			if err := s.bucket.DeleteAll(ctx, logFolder(id)); err != nil {
				failed = err // its rows stay, so that the next round finds it again
				continue
			}
			gone = append(gone, id)
		}
		n, err := s.store.DeleteJobs(ctx, before, gone)
		if err != nil {
			return deleted, errors.Join(failed, err)
		}
		deleted += n
		if next == "" {
			return deleted, failed
		}
		if after = next; !rest(ctx, began) {
			return deleted, errors.Join(failed, ctx.Err())
		}
	}
	return deleted, failed
}

// rest pauses after work that began at a time; false when ctx ended.
func rest(ctx context.Context, began time.Time) bool {
	return pause(ctx, retainRest*time.Since(began))
}

// logFolder is where the bytes of all of a job's logs are in the bucket.
func logFolder(jobID string) string { return "logs/" + jobID }
