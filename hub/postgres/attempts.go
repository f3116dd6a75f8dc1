package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/runnerhub/runnerhub/hub"
)

// ListAttempts implements hub.JobStore.
func (s *Store) ListAttempts(ctx context.Context, jobID string) ([]hub.Attempt, error) {
	return collect(ctx, s, "list attempts", func(row pgx.CollectableRow) (hub.Attempt, error) {
		var r attemptRow
		err := row.Scan(r.dest()...)
		return r.take(), err
	}, selectAttempts, jobID)
}

// GetAttempt implements hub.JobStore.
func (s *Store) GetAttempt(ctx context.Context, jobID string, number int) (a hub.Attempt, err error) {
	err = s.read(ctx, "get an attempt", func(ctx context.Context) error {
		var r attemptRow
		err := s.pool.QueryRow(ctx, selectAttempt, jobID, number).Scan(append(r.dest(), &r.attempt.Result)...)
		a = r.take()
		return missing(err, "attempt")
	})
	return a, err
}

// AttemptByLog implements hub.LogStore.
func (s *Store) AttemptByLog(ctx context.Context, digest []byte) (a hub.Attempt, err error) {
	err = s.read(ctx, "find an attempt by its log", func(ctx context.Context) error {
		var r attemptRow
		err := s.pool.QueryRow(ctx, selectAttemptByLog, digest).Scan(r.dest()...)
		a = r.take()
		return missing(err, "log")
	})
	return a, err
}

// attemptRow takes attemptColumns.
type attemptRow struct {
	attempt hub.Attempt
	failure failureRow
}

func (r *attemptRow) dest() []any {
	a := &r.attempt
	d := []any{
		&a.JobID, &a.Number, &a.RunnerID, &a.Epoch, (*string)(&a.State), &a.LeaseDigest, &a.LogDigest,
		(*stamp)(&a.LeasedAt), (*stamp)(&a.StartedAt), (*stamp)(&a.EndedAt),
	}
	return append(append(d, r.failure.dest()...), &a.ReportDigest, &a.LogSize)
}

func (r *attemptRow) take() hub.Attempt {
	r.attempt.Failure = r.failure.take()
	return r.attempt
}
