package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

const (
	listKeys = `SELECT k.scope, k.key, k.created_at < :before AND NOT EXISTS (
			SELECT 1 FROM jobs j WHERE j.id = k.job_id AND (j.ended_at IS NULL OR j.ended_at >= :before))
		FROM idempotency_keys k WHERE (k.scope, k.key) > (:scope, :key) ORDER BY k.scope, k.key LIMIT :limit`
	deleteKey = `DELETE FROM idempotency_keys WHERE scope = ? AND key = ?`
	listEnded = `SELECT id, ended_at IS NOT NULL AND ended_at < ? FROM jobs WHERE id > ? AND id < ? ORDER BY id LIMIT ?`
	// Everything but the events goes with its job.
	deleteJob    = `DELETE FROM jobs WHERE id = ? AND ended_at < ?`
	deleteEvents = `DELETE FROM events INDEXED BY events_job WHERE job_id = ? AND job_id <> ''`
)

// DeleteKeys implements hub.RetentionStore.
func (s *Store) DeleteKeys(ctx context.Context, before time.Time, after hub.KeyPos, limit int) (next hub.KeyPos, err error) {
	type key struct {
		hub.KeyPos
		old bool
	}
	// What is old now will be no younger when it is deleted: its job has ended.
	page, err := readAll(ctx, s, "list idempotency keys", listKeys,
		[]any{
			sql.Named("before", stamp(before)), sql.Named("scope", after.Scope), sql.Named("key", after.Key),
			sql.Named("limit", limit),
		},
		func(r rowScanner) (k key, err error) {
			err = r.Scan(&k.Scope, &k.Key, &k.old)
			return k, err
		})
	if err != nil || len(page) == 0 {
		return hub.KeyPos{}, err
	}
	if len(page) == limit {
		next = page[limit-1].KeyPos
	}
	return next, s.write(ctx, "delete idempotency keys", func(t *tx) error {
		for _, k := range page {
			if !k.old {
				continue
			}
			if _, err := t.exec(deleteKey, k.Scope, k.Key); err != nil {
				return err
			}
		}
		return nil
	})
}

// EndedBefore implements hub.RetentionStore.
func (s *Store) EndedBefore(ctx context.Context, before time.Time, afterID string, limit int) (ids []string, next string, err error) {
	seen, last := 0, ""
	_, err = readAll(ctx, s, "list ended jobs", listEnded, []any{stamp(before), afterID, hub.JobIDsBefore(before), limit},
		func(r rowScanner) (struct{}, error) {
			var ended bool
			err := r.Scan(&last, &ended)
			if seen++; ended {
				ids = append(ids, last)
			}
			return struct{}{}, err
		})
	if seen == limit {
		next = last
	}
	return ids, next, err
}

// DeleteJobs implements hub.RetentionStore.
func (s *Store) DeleteJobs(ctx context.Context, before time.Time, ids []string) (n int, err error) {
	err = s.write(ctx, "delete ended jobs", func(t *tx) error {
		n = 0 // also when it is called again
		for _, id := range ids {
			gone, err := t.exec(deleteJob, id, stamp(before))
			if err != nil {
				return err
			}
			if gone == 0 {
				continue
			}
			n++
			if _, err := t.exec(deleteEvents, id); err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}
