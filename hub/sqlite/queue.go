package sqlite

import (
	"context"
	"database/sql"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// ListQueued implements hub.JobStore.
func (s *Store) ListQueued(ctx context.Context, k hub.QueueKey, after *hub.QueuePos, limit int) ([]hub.QueuedJob, error) {
	pos := hub.QueuePos{Rank: math.MinInt}
	if after != nil {
		pos = *after
	}
	return readAll(ctx, s, "read a queue", listQueued, []any{string(k), pos.Rank, pos.ID, limit}, scanQueued)
}

// ListQueuedOf implements hub.JobStore.
func (s *Store) ListQueuedOf(ctx context.Context, k hub.QueueKey, workspaceID string, after *hub.QueuePos, limit int) ([]hub.QueuedJob, error) {
	pos := hub.QueuePos{Rank: math.MinInt}
	if after != nil {
		pos = *after
	}
	return readAll(ctx, s, "read a queue", listQueuedOf, []any{string(k), pos.Rank, pos.ID, workspaceID, limit}, scanQueued)
}

// Shares implements hub.JobStore.
func (s *Store) Shares(ctx context.Context, k hub.QueueKey) ([]hub.Share, error) {
	owner, _ := k.Split()
	return readAll(ctx, s, "share a queue", shares, []any{string(owner), string(k)}, func(r rowScanner) (sh hub.Share, err error) {
		err = r.Scan(&sh.WorkspaceID, &sh.Head.Rank, &sh.Head.ID, &sh.Live)
		return sh, err
	})
}

// GroupHolders implements hub.JobStore.
func (s *Store) GroupHolders(ctx context.Context, groups []hub.Group) (map[hub.Group]string, error) {
	holders := map[hub.Group]string{}
	for _, g := range groups {
		ids, err := readAll(ctx, s, "look at a group", selectGroupHolder, []any{g.WorkspaceID, g.Name}, scanOne[string])
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			holders[g] = id
		}
	}
	return holders, nil
}

// ListGroup implements hub.JobStore.
func (s *Store) ListGroup(ctx context.Context, g hub.Group, limit int) ([]hub.QueuedJob, error) {
	return readAll(ctx, s, "read a group's queue", listGroup, []any{g.WorkspaceID, g.Name, limit}, scanQueued)
}

func scanQueued(r rowScanner) (q hub.QueuedJob, err error) {
	q.Job, err = scanJob(r, payloadDest(&q.Payload)...)
	return q, err
}

// CountAhead implements hub.JobStore.
func (s *Store) CountAhead(ctx context.Context, k hub.QueueKey, at hub.QueuePos) (int, error) {
	var n int
	err := s.read(ctx, "count a queue", "queue", countAhead, []any{string(k), at.Rank, at.ID}, &n)
	return n, err
}

// QueueKeys implements hub.JobStore.
func (s *Store) QueueKeys(ctx context.Context, before time.Time) ([]hub.QueueKey, error) {
	return readAll(ctx, s, "list queues", queueKeys, []any{stamp(before)}, scanOne[hub.QueueKey])
}

func scanOne[T any](r rowScanner) (v T, err error) {
	err = r.Scan(&v)
	return v, err
}

// ListLive implements hub.JobStore.
func (s *Store) ListLive(ctx context.Context, afterID string, limit int) ([]hub.LiveJob, error) {
	return readAll(ctx, s, "list live jobs", listLive, []any{afterID, limit}, func(r rowScanner) (l hub.LiveJob, err error) {
		l.Job, err = scanJob(r, append(payloadDest(&l.Payload), &l.Revoked)...)
		return l, err
	})
}

// LiveOfRunner implements hub.JobStore.
func (s *Store) LiveOfRunner(ctx context.Context, runnerID string) ([]hub.Job, error) {
	return readAll(ctx, s, "list a runner's live jobs", liveOfRunner, []any{runnerID}, func(r rowScanner) (hub.Job, error) {
		return scanJob(r)
	})
}

// CountLive implements hub.JobStore.
func (s *Store) CountLive(ctx context.Context, o hub.Owner) (map[string]int, error) {
	type count struct {
		runner string
		n      int
	}
	rows, err := readAll(ctx, s, "count live jobs", countLive, []any{string(o)}, func(r rowScanner) (c count, err error) {
		err = r.Scan(&c.runner, &c.n)
		return c, err
	})
	out := make(map[string]int, len(rows))
	for _, c := range rows {
		out[c.runner] = c.n
	}
	return out, err
}

// afterAllIDs sorts behind every id.
const afterAllIDs = "\U0010FFFF"

// ListJobs implements hub.JobStore.
func (s *Store) ListJobs(ctx context.Context, f hub.JobFilter) ([]hub.QueuedJob, error) {
	before := f.BeforeID
	if before == "" {
		before = afterAllIDs
	}
	statement := listJobs
	if f.BatchID != "" {
		statement = listBatch
	}
	var out []hub.QueuedJob
	owners := slices.Compact(slices.Sorted(slices.Values(f.Owners)))
	for _, o := range owners {
		jobs, err := readAll(ctx, s, "list jobs", statement, []any{
			sql.Named("owner", string(o)), sql.Named("before", before), sql.Named("states", list(f.States)),
			sql.Named("runner", f.RunnerID), sql.Named("workspace", f.WorkspaceID), sql.Named("batch", f.BatchID),
			sql.Named("since", stamp(f.Since)), sql.Named("until", stamp(f.Until)), sql.Named("limit", f.Limit),
		}, scanQueued)
		if err != nil {
			return nil, err
		}
		out = append(out, jobs...)
	}
	if len(owners) > 1 {
		slices.SortFunc(out, func(a, b hub.QueuedJob) int { return strings.Compare(b.Job.ID, a.Job.ID) })
	}
	return out[:min(len(out), f.Limit)], nil
}
