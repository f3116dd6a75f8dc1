package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/tidwall/btree"

	"github.com/runnerhub/runnerhub/hub"
)

// part is one workspace's jobs on one owner's runners.
type part struct {
	owner       hub.Owner
	workspaceID string
}

func partOf(j hub.Job) part { return part{j.Owner, j.WorkspaceID} }

// indexGroup enters a row of a concurrency group, as far as it waits or is live.
func (s *Store) indexGroup(r *row) {
	g := r.job.GroupKey()
	switch {
	case g.Name == "":
	case r.job.State == hub.JobQueued:
		q := s.groupQueues[g]
		if q == nil {
			q = btree.NewBTreeGOptions(before, btree.Options{NoLocks: true})
			s.groupQueues[g] = q
		}
		q.Set(r)
	case r.job.State.Live():
		s.groupHolders[g] = r.job.ID
	}
}

// unindexGroup is its inverse.
func (s *Store) unindexGroup(r *row) {
	g := r.job.GroupKey()
	switch {
	case g.Name == "":
	case r.job.State == hub.JobQueued:
		q := s.groupQueues[g]
		q.Delete(r)
		if q.Len() == 0 {
			delete(s.groupQueues, g)
		}
	case r.job.State.Live():
		delete(s.groupHolders, g)
	}
}

// checkShare refuses a lease over the caps, or of a group that is held.
func (s *Store) checkShare(c hub.Change, next hub.Job) error {
	if r := s.runners[c.NewAttempt.RunnerID]; r != nil && !r.RevokedAt.IsZero() {
		return hub.ErrRevoked
	}
	if c.MaxRunning > 0 && s.running(next.Owner) >= c.MaxRunning {
		return hub.OverRunning(c.MaxRunning)
	}
	if c.MaxRunningPerWorkspace > 0 && s.parts[partOf(next)] >= c.MaxRunningPerWorkspace {
		return hub.OverWorkspace(c.MaxRunningPerWorkspace)
	}
	if holder := s.groupHolders[next.GroupKey()]; holder != "" && holder != next.ID {
		return hub.ErrGroupBusy
	}
	return nil
}

// ListQueuedOf implements hub.JobStore.
func (s *Store) ListQueuedOf(ctx context.Context, k hub.QueueKey, workspaceID string, after *hub.QueuePos, limit int) (out []hub.QueuedJob, err error) {
	err = s.read(ctx, func() error {
		q := s.queues[k]
		if q == nil {
			return nil
		}
		q.Scan(func(r *row) bool {
			if len(out) == limit {
				return false
			}
			if r.job.WorkspaceID == workspaceID && (after == nil || before(at(*after), r)) {
				out = append(out, r.queued())
			}
			return true
		})
		return nil
	})
	return out, err
}

// Shares implements hub.JobStore.
func (s *Store) Shares(ctx context.Context, k hub.QueueKey) (out []hub.Share, err error) {
	err = s.read(ctx, func() error {
		q := s.queues[k]
		if q == nil {
			return nil
		}
		seen := map[string]bool{}
		q.Scan(func(r *row) bool {
			if !seen[r.job.WorkspaceID] {
				seen[r.job.WorkspaceID] = true
				out = append(out, hub.Share{
					WorkspaceID: r.job.WorkspaceID, Head: hub.QueuePos{Rank: r.job.Rank, ID: r.job.ID}, Live: s.parts[partOf(r.job)],
				})
			}
			return true
		})
		return nil
	})
	slices.SortStableFunc(out, func(a, b hub.Share) int { return cmp.Compare(a.Live, b.Live) })
	return out, err
}

// GroupHolders implements hub.JobStore.
func (s *Store) GroupHolders(ctx context.Context, groups []hub.Group) (out map[hub.Group]string, err error) {
	out = map[hub.Group]string{}
	err = s.read(ctx, func() error {
		for _, g := range groups {
			if id := s.groupHolders[g]; id != "" {
				out[g] = id
			}
		}
		return nil
	})
	return out, err
}

// ListGroup implements hub.JobStore.
func (s *Store) ListGroup(ctx context.Context, g hub.Group, limit int) (out []hub.QueuedJob, err error) {
	err = s.read(ctx, func() error {
		if q := s.groupQueues[g]; q != nil {
			q.Scan(func(r *row) bool {
				if len(out) == limit {
					return false
				}
				out = append(out, r.queued())
				return true
			})
		}
		return nil
	})
	return out, err
}
