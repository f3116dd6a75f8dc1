package sqlite

import (
	"context"
	"time"
)

// Lead implements hub.Store: the lock on the file has decided who leads, and ends with its process.
func (s *Store) Lead(ctx context.Context, _, _ string, _, _ time.Time) (bool, error) {
	return true, ctx.Err()
}

// Resign implements hub.Store.
func (s *Store) Resign(ctx context.Context, _, _ string) error { return ctx.Err() }
