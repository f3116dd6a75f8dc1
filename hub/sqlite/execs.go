package sqlite

import (
	"context"
	"encoding/json"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

const (
	// Counts no further than the cap.
	countExecs  = `SELECT count(*) FROM (SELECT 1 FROM execs INDEXED BY execs_open WHERE job_id = ? AND open LIMIT ?)`
	insertExec  = `INSERT INTO execs (id, job_id, open, revision, expires_at, body) VALUES (?, ?, ?, ?, ?, ?)`
	updateExec  = `UPDATE execs SET open = ?, revision = ?, expires_at = ?, body = ? WHERE id = ? AND revision = ?`
	selectExec  = `SELECT body FROM execs WHERE id = ?`
	openExecs   = `SELECT body FROM execs INDEXED BY execs_open WHERE job_id = ? AND open ORDER BY id`
	oldExecs    = `SELECT body FROM execs INDEXED BY execs_expiry WHERE expires_at < ? ORDER BY expires_at LIMIT ?`
	deleteExecs = `DELETE FROM execs WHERE id IN (SELECT value FROM json_each(?))`
)

// CreateExec implements hub.ExecStore.
func (s *Store) CreateExec(ctx context.Context, x hub.Exec, most int, e hub.Event) error {
	return s.write(ctx, "store a request", func(t *tx) error {
		var n int
		if err := t.row(countExecs, x.JobID, most).Scan(&n); err != nil {
			return err
		}
		if n >= most {
			return hub.OverExecs(most)
		}
		if _, err := t.exec(insertExec, x.ID, x.JobID, x.Open(), x.Revision, stamp(x.ExpiresAt), body(x)); err != nil {
			return err
		}
		return t.told(e)
	})
}

// UpdateExec implements hub.ExecStore.
func (s *Store) UpdateExec(ctx context.Context, x hub.Exec, e hub.Event) error {
	return s.write(ctx, "write a request", func(t *tx) error {
		if err := t.one(updateExec, x.Open(), x.Revision, stamp(x.ExpiresAt), body(x), x.ID, x.Revision-1); err != nil {
			return err
		}
		return t.told(e)
	})
}

// told writes an event, unless there is none.
func (t *tx) told(e hub.Event) error {
	if e.Action == "" {
		return nil
	}
	return t.event(e)
}

// GetExec implements hub.ExecStore.
func (s *Store) GetExec(ctx context.Context, id string) (x hub.Exec, err error) {
	err = s.readRow(ctx, "read a request", "request", selectExec, []any{id}, func(r rowScanner) (err error) {
		x, err = scanExec(r)
		return err
	})
	return x, err
}

// OpenExecs implements hub.ExecStore.
func (s *Store) OpenExecs(ctx context.Context, jobID string) ([]hub.Exec, error) {
	return readAll(ctx, s, "list requests", openExecs, []any{jobID}, scanExec)
}

// ExpiredExecs implements hub.ExecStore.
func (s *Store) ExpiredExecs(ctx context.Context, before time.Time, limit int) ([]hub.Exec, error) {
	return readAll(ctx, s, "list old requests", oldExecs, []any{stamp(before), limit}, scanExec)
}

// DeleteExecs implements hub.ExecStore.
func (s *Store) DeleteExecs(ctx context.Context, ids []string) error {
	return s.write(ctx, "delete requests", func(t *tx) error {
		_, err := t.exec(deleteExecs, list(ids))
		return err
	})
}

func scanExec(r rowScanner) (x hub.Exec, err error) {
	var text string
	if err = r.Scan(&text); err == nil {
		err = json.Unmarshal([]byte(text), &x)
	}
	return x, err
}

// body is a request as the schema has it.
func body(x hub.Exec) string {
	b, err := json.Marshal(x)
	if err != nil {
		panic(err) // numbers, times and words cannot fail
	}
	return string(b)
}
