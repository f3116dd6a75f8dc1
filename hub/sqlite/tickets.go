package sqlite

import (
	"context"
	"time"
)

const (
	takeSource = `INSERT INTO source_tickets (job_id, attempt, taken_at)
		SELECT job_id, number, ? FROM attempts WHERE job_id = ? AND number = ? AND state IN ('leased', 'running')
		ON CONFLICT DO NOTHING`
	returnSource = `DELETE FROM source_tickets WHERE job_id = ? AND attempt = ?`
)

// TakeSource implements hub.SourceStore.
func (s *Store) TakeSource(ctx context.Context, jobID string, attempt int, at time.Time) error {
	return s.write(ctx, "take a source", func(t *tx) error { return t.one(takeSource, stamp(at), jobID, attempt) })
}

// ReturnSource implements hub.SourceStore.
func (s *Store) ReturnSource(ctx context.Context, jobID string, attempt int) error {
	return s.write(ctx, "return a source", func(t *tx) error {
		_, err := t.exec(returnSource, jobID, attempt)
		return err
	})
}
