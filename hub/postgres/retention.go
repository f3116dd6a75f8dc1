package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/runnerhub/runnerhub/hub"
)

// DeleteKeys implements hub.RetentionStore.
func (s *Store) DeleteKeys(ctx context.Context, before time.Time, after hub.KeyPos, limit int) (next hub.KeyPos, err error) {
	err = s.write(ctx, "delete idempotency keys", func(ctx context.Context) error {
		err := s.pool.QueryRow(ctx, deleteKeys, before, after.Scope, after.Key, limit).Scan(&next.Scope, &next.Key)
		if errors.Is(err, pgx.ErrNoRows) { // the page was not full
			next = hub.KeyPos{}
			return nil
		}
		return err
	})
	return next, err
}

// EndedBefore implements hub.RetentionStore.
func (s *Store) EndedBefore(ctx context.Context, before time.Time, afterID string, limit int) (ids []string, next string, err error) {
	err = s.read(ctx, "list ended jobs", func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, selectEnded, afterID, hub.JobIDsBefore(before), limit, before)
		if err != nil {
			return err
		}
		ids, next = nil, ""
		seen := 0
		var id string
		var ended bool
		_, err = pgx.ForEachRow(rows, []any{&id, &ended}, func() error {
			if seen++; seen == limit {
				next = id
			}
			if ended {
				ids = append(ids, id)
			}
			return nil
		})
		return err
	})
	return ids, next, err
}

// DeleteJobs implements hub.RetentionStore.
func (s *Store) DeleteJobs(ctx context.Context, before time.Time, ids []string) (n int, err error) {
	if len(ids) == 0 {
		return 0, nil
	}
	err = s.write(ctx, "delete ended jobs", func(ctx context.Context) error {
		tag, err := s.pool.Exec(ctx, deleteJobs, before, ids)
		n = int(tag.RowsAffected())
		return err
	})
	return n, err
}
