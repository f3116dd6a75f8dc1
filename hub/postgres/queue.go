package postgres

import (
	"context"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/runnerhub/runnerhub/hub"
)

// ListQueued implements hub.JobStore. It locks nothing: Apply decides who gets a job.
func (s *Store) ListQueued(ctx context.Context, k hub.QueueKey, after *hub.QueuePos, limit int) ([]hub.QueuedJob, error) {
	if after == nil && limit <= headPage { // where every call that looks for work begins
		jobs, err := s.lookups.heads.get(ctx, string(k))
		return jobs[:min(limit, len(jobs))], err
	}
	from := hub.QueuePos{Rank: math.MinInt32}
	if after != nil {
		from = *after
	}
	return collect(ctx, s, "list a queue", scanQueued, selectQueued, string(k), from.Rank, from.ID, limit)
}

// ListQueuedOf implements hub.JobStore.
func (s *Store) ListQueuedOf(ctx context.Context, k hub.QueueKey, workspaceID string, after *hub.QueuePos, limit int) ([]hub.QueuedJob, error) {
	from := hub.QueuePos{Rank: math.MinInt32}
	if after != nil {
		from = *after
	}
	return collect(ctx, s, "list a queue", scanQueued, selectQueuedOf, string(k), from.Rank, from.ID, limit, workspaceID)
}

// Shares implements hub.JobStore.
func (s *Store) Shares(ctx context.Context, k hub.QueueKey) ([]hub.Share, error) {
	owner, _ := k.Split()
	return collect(ctx, s, "share a queue", func(row pgx.CollectableRow) (sh hub.Share, err error) {
		err = row.Scan(&sh.WorkspaceID, &sh.Head.Rank, &sh.Head.ID, &sh.Live)
		return sh, err
	}, selectShares, string(k), string(owner))
}

// GroupHolders implements hub.JobStore.
func (s *Store) GroupHolders(ctx context.Context, groups []hub.Group) (map[hub.Group]string, error) {
	workspaces, names := make([]string, len(groups)), make([]string, len(groups))
	for i, g := range groups {
		workspaces[i], names[i] = g.WorkspaceID, text(g.Name)
	}
	holders := map[hub.Group]string{}
	_, err := collect(ctx, s, "look at groups", func(row pgx.CollectableRow) (_ struct{}, err error) {
		var g hub.Group
		var id string
		err = row.Scan(&g.WorkspaceID, &g.Name, &id)
		holders[g] = id
		return struct{}{}, err
	}, selectGroupHolders, workspaces, names)
	return holders, err
}

// ListGroup implements hub.JobStore.
func (s *Store) ListGroup(ctx context.Context, g hub.Group, limit int) ([]hub.QueuedJob, error) {
	return collect(ctx, s, "list a group", scanQueued, selectGroup, g.WorkspaceID, text(g.Name), limit)
}

// CountAhead implements hub.JobStore.
func (s *Store) CountAhead(ctx context.Context, k hub.QueueKey, at hub.QueuePos) (n int, err error) {
	err = s.read(ctx, "count a queue", func(ctx context.Context) error {
		return s.pool.QueryRow(ctx, countAhead, string(k), at.Rank, at.ID).Scan(&n)
	})
	return n, err
}

// QueueKeys implements hub.JobStore.
func (s *Store) QueueKeys(ctx context.Context, before time.Time) ([]hub.QueueKey, error) {
	return collect(ctx, s, "list queues", pgx.RowTo[hub.QueueKey], selectQueueKeys, before)
}

// ListLive implements hub.JobStore.
func (s *Store) ListLive(ctx context.Context, afterID string, limit int) ([]hub.LiveJob, error) {
	return collect(ctx, s, "list live jobs", func(row pgx.CollectableRow) (hub.LiveJob, error) {
		var j jobRow
		var p payloadRow
		var revoked bool
		err := row.Scan(append(append(j.dest(), p.dest()...), &revoked)...)
		return hub.LiveJob{Job: j.take(), Payload: p.take(), Revoked: revoked}, err
	}, selectLive, afterID, limit)
}

// LiveOfRunner implements hub.JobStore.
func (s *Store) LiveOfRunner(ctx context.Context, runnerID string) ([]hub.Job, error) {
	return s.lookups.held.get(ctx, runnerID)
}

// CountLive implements hub.JobStore.
func (s *Store) CountLive(ctx context.Context, o hub.Owner) (live map[string]int, err error) {
	err = s.read(ctx, "count live jobs", func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, countLive, string(o))
		if err != nil {
			return err
		}
		live = map[string]int{}
		var runner string
		var n int
		_, err = pgx.ForEachRow(rows, []any{&runner, &n}, func() error {
			live[runner] = n
			return nil
		})
		return err
	})
	return live, err
}

func scanQueued(row pgx.CollectableRow) (hub.QueuedJob, error) {
	var j jobRow
	var p payloadRow
	err := row.Scan(append(j.dest(), p.dest()...)...)
	return hub.QueuedJob{Job: j.take(), Payload: p.take()}, err
}

// collect runs a query that changes nothing and gathers its rows.
func collect[T any](ctx context.Context, s *Store, doing string, scan pgx.RowToFunc[T], sql string, args ...any) (list []T, err error) {
	err = s.read(ctx, doing, func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, scan)
		return err
	})
	return list, err
}
