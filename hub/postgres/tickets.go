package postgres

import (
	"context"
	"time"
)

const (
	takeSource = `INSERT INTO source_tickets (job_id, attempt, taken_at)
		SELECT job_id, number, $1 FROM attempts WHERE job_id = $2 AND number = $3 AND state IN ('leased', 'running')
		ON CONFLICT DO NOTHING`
	returnSource = `DELETE FROM source_tickets WHERE job_id = $1 AND attempt = $2`
)

// TakeSource implements hub.SourceStore.
func (s *Store) TakeSource(ctx context.Context, jobID string, attempt int, at time.Time) error {
	return s.guarded(ctx, "take a source", takeSource, stamp(at), jobID, attempt)
}

// ReturnSource implements hub.SourceStore.
func (s *Store) ReturnSource(ctx context.Context, jobID string, attempt int) error {
	return s.write(ctx, "return a source", func(ctx context.Context) error {
		_, err := s.pool.Exec(ctx, returnSource, jobID, attempt)
		return err
	})
}
