package memory

import (
	"context"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// TakeSource implements hub.SourceStore.
func (s *Store) TakeSource(ctx context.Context, jobID string, attempt int, _ time.Time) error {
	return s.write(ctx, func() error {
		a := s.attempt(jobID, attempt)
		if a == nil || !a.State.Live() || a.sourceTaken {
			return hub.ErrConflict
		}
		a.sourceTaken = true
		return nil
	})
}

// ReturnSource implements hub.SourceStore.
func (s *Store) ReturnSource(ctx context.Context, jobID string, attempt int) error {
	return s.write(ctx, func() error {
		if a := s.attempt(jobID, attempt); a != nil {
			a.sourceTaken = false
		}
		return nil
	})
}
