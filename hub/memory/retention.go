package memory

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// old says whether a job ended before a time, or is not there.
func (r *row) old(before time.Time) bool {
	return r == nil || (r.job.State.Ended() && r.job.EndedAt.Before(before))
}

// DeleteKeys implements hub.RetentionStore, all in one go: there is no order to walk in.
func (s *Store) DeleteKeys(ctx context.Context, before time.Time, _ hub.KeyPos, _ int) (hub.KeyPos, error) {
	return hub.KeyPos{}, s.write(ctx, func() error {
		maps.DeleteFunc(s.keys, func(_ idempotencyKey, k keyed) bool { return s.jobs[k.jobID].old(before) })
		return nil
	})
}

// EndedBefore implements hub.RetentionStore.
func (s *Store) EndedBefore(ctx context.Context, before time.Time, afterID string, limit int) (ids []string, next string, err error) {
	err = s.read(ctx, func() error {
		young := hub.JobIDsBefore(before)
		var page []string
		for id := range s.jobs {
			if id > afterID && id < young {
				page = append(page, id)
			}
		}
		slices.Sort(page)
		if len(page) >= limit {
			page = page[:limit]
			next = page[limit-1]
		}
		for _, id := range page {
			if s.jobs[id].old(before) {
				ids = append(ids, id)
			}
		}
		return nil
	})
	return ids, next, err
}

// DeleteJobs implements hub.RetentionStore.
func (s *Store) DeleteJobs(ctx context.Context, before time.Time, ids []string) (n int, err error) {
	err = s.write(ctx, func() error {
		for _, id := range ids {
			r := s.jobs[id]
			if r == nil || !r.old(before) {
				continue
			}
			n++
			delete(s.jobs, id)
			delete(s.events, id)
			s.owned[r.job.Owner].Delete(id)
			for _, a := range r.attempts {
				delete(s.logs, string(a.LogDigest))
			}
		}
		maps.DeleteFunc(s.keys, func(_ idempotencyKey, k keyed) bool { return s.jobs[k.jobID] == nil })
		return nil
	})
	return n, err
}

// Lead implements hub.Store.
func (s *Store) Lead(ctx context.Context, task, holder string, now, until time.Time) (held bool, err error) {
	err = s.write(ctx, func() error {
		if l, ok := s.leaders[task]; !ok || l.holder == holder || !now.Before(l.until) {
			s.leaders[task] = leader{holder, until}
			held = true
		}
		return nil
	})
	return held, err
}

// Resign implements hub.Store.
func (s *Store) Resign(ctx context.Context, task, holder string) error {
	return s.write(ctx, func() error {
		if s.leaders[task].holder == holder {
			delete(s.leaders, task)
		}
		return nil
	})
}

type leader struct {
	holder string
	until  time.Time
}
