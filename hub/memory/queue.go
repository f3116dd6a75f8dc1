package memory

import (
	"context"
	"slices"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// at is a row that stands at a place in its queue.
func at(p hub.QueuePos) *row { return &row{job: hub.Job{Rank: p.Rank, ID: p.ID}} }

// ListQueued implements hub.JobStore.
func (s *Store) ListQueued(ctx context.Context, k hub.QueueKey, after *hub.QueuePos, limit int) (out []hub.QueuedJob, err error) {
	err = s.read(ctx, func() error {
		q := s.queues[k]
		if q == nil {
			return nil
		}
		next := func(r *row) bool {
			if len(out) == limit {
				return false
			}
			if after == nil || r.job.Rank != after.Rank || r.job.ID != after.ID {
				out = append(out, r.queued())
			}
			return true
		}
		if after == nil {
			q.Scan(next)
		} else {
			q.Ascend(at(*after), next)
		}
		return nil
	})
	return out, err
}

// CountAhead implements hub.JobStore.
func (s *Store) CountAhead(ctx context.Context, k hub.QueueKey, p hub.QueuePos) (n int, err error) {
	err = s.read(ctx, func() error {
		q := s.queues[k]
		if q == nil {
			return nil
		}
		place := at(p)
		q.Scan(func(r *row) bool {
			if !before(r, place) {
				return false
			}
			n++
			return true
		})
		return nil
	})
	return n, err
}

// QueueKeys implements hub.JobStore.
func (s *Store) QueueKeys(ctx context.Context, entered time.Time) (out []hub.QueueKey, err error) {
	err = s.read(ctx, func() error {
		for k, q := range s.queues {
			q.Scan(func(r *row) bool {
				found := r.job.QueuedAt.Before(entered)
				if found {
					out = append(out, k)
				}
				return !found
			})
		}
		slices.Sort(out)
		return nil
	})
	return out, err
}

// ListLive implements hub.JobStore.
func (s *Store) ListLive(ctx context.Context, afterID string, limit int) (out []hub.LiveJob, err error) {
	err = s.read(ctx, func() error {
		s.live.Ascend(afterID, func(id string, r *row) bool {
			if len(out) == limit {
				return false
			}
			if id != afterID {
				q := r.queued()
				holder := s.runners[r.job.LeaseRunnerID]
				out = append(out, hub.LiveJob{Job: q.Job, Payload: q.Payload, Revoked: holder != nil && !holder.RevokedAt.IsZero()})
			}
			return true
		})
		return nil
	})
	return out, err
}

// LiveOfRunner implements hub.JobStore.
func (s *Store) LiveOfRunner(ctx context.Context, runnerID string) (out []hub.Job, err error) {
	err = s.read(ctx, func() error {
		if held := s.holds[runnerID]; held != nil {
			held.Scan(func(_ string, r *row) bool {
				out = append(out, copyJob(r.job))
				return true
			})
		}
		return nil
	})
	return out, err
}

// CountLive implements hub.JobStore.
func (s *Store) CountLive(ctx context.Context, o hub.Owner) (out map[string]int, err error) {
	err = s.read(ctx, func() error {
		out = make(map[string]int, len(s.counts[o]))
		for runner, n := range s.counts[o] {
			out[runner] = n
		}
		return nil
	})
	return out, err
}
