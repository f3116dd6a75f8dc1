package postgres

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/runnerhub/runnerhub/hub"
)

const (
	// insertExec counts no further than the cap. Parameters 1 to 11 are those of the event.
	insertExec = `
	WITH done AS (
		INSERT INTO execs (id, job_id, open, revision, expires_at, body)
		SELECT $12::text, $13::text, $14::boolean, $15::bigint, $16::timestamptz, $17::jsonb
		WHERE (SELECT count(*) FROM (SELECT FROM execs WHERE job_id = $13 AND open LIMIT $18) o) < $18
		RETURNING id
	), event AS (` + insertEvent + ` WHERE $19)
	SELECT count(*) FROM done`

	updateExec = `
	WITH done AS (
		UPDATE execs SET open = $14, revision = $15, expires_at = $16, body = $17::jsonb
		WHERE id = $12 AND job_id = $13 AND revision = $15 - 1 RETURNING id
	), event AS (` + insertEvent + ` WHERE $18)
	SELECT count(*) FROM done`

	selectExec = `SELECT body FROM execs WHERE id = $1`
	openExecs  = `SELECT body FROM execs WHERE job_id = $1 AND open ORDER BY id`
	oldExecs   = `SELECT body FROM execs WHERE expires_at < $1 ORDER BY expires_at LIMIT $2`
	dropExecs  = `DELETE FROM execs WHERE id = ANY($1::text[])`
)

// CreateExec implements hub.ExecStore.
func (s *Store) CreateExec(ctx context.Context, x hub.Exec, most int, e hub.Event) error {
	return s.write(ctx, "store a request", func(ctx context.Context) error {
		var b pgx.Batch
		lock(&b, lockExecs, []string{x.JobID}) // or two would both find room
		n := 0
		b.Queue(insertExec, append(execArgs(x, e), most, e.Action != "")...).QueryRow(func(row pgx.Row) error { return row.Scan(&n) })
		if err := s.send(ctx, &b); err != nil {
			return err
		}
		if n == 0 {
			return hub.OverExecs(most)
		}
		return nil
	})
}

// UpdateExec implements hub.ExecStore.
func (s *Store) UpdateExec(ctx context.Context, x hub.Exec, e hub.Event) error {
	return s.write(ctx, "write a request", func(ctx context.Context) error {
		n := 0
		err := s.pool.QueryRow(ctx, updateExec, append(execArgs(x, e), e.Action != "")...).Scan(&n)
		if err == nil && n == 0 {
			return hub.ErrConflict
		}
		return err
	})
}

func execArgs(x hub.Exec, e hub.Event) []any {
	return append(eventArgs(e), x.ID, x.JobID, x.Open(), x.Revision, stamp(x.ExpiresAt), document(&x))
}

// GetExec implements hub.ExecStore.
func (s *Store) GetExec(ctx context.Context, id string) (x hub.Exec, err error) {
	list, err := collect(ctx, s, "read a request", scanExec, selectExec, id)
	if err == nil && len(list) == 0 {
		return x, notFound("request")
	}
	if err != nil {
		return x, err
	}
	return list[0], nil
}

// OpenExecs implements hub.ExecStore.
func (s *Store) OpenExecs(ctx context.Context, jobID string) ([]hub.Exec, error) {
	return collect(ctx, s, "list requests", scanExec, openExecs, jobID)
}

// ExpiredExecs implements hub.ExecStore.
func (s *Store) ExpiredExecs(ctx context.Context, before time.Time, limit int) ([]hub.Exec, error) {
	return collect(ctx, s, "list old requests", scanExec, oldExecs, before, limit)
}

// DeleteExecs implements hub.ExecStore.
func (s *Store) DeleteExecs(ctx context.Context, ids []string) error {
	return s.write(ctx, "delete requests", func(ctx context.Context) error {
		_, err := s.pool.Exec(ctx, dropExecs, ids)
		return err
	})
}

func scanExec(row pgx.CollectableRow) (x hub.Exec, err error) {
	var b []byte
	if err = row.Scan(&b); err == nil {
		err = json.Unmarshal(b, &x)
	}
	return x, err
}
