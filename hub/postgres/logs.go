package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/runnerhub/runnerhub/hub"
)

// AppendLog implements hub.LogStore.
func (s *Store) AppendLog(ctx context.Context, jobID string, attempt int, c hub.LogChunk) error {
	if c.Size <= 0 {
		return hub.Errorf(hub.InvalidArgument, "a log chunk has at least one byte")
	}
	return s.write(ctx, "append to a log", func(ctx context.Context) error {
		var done, found bool
		err := s.pool.QueryRow(ctx, appendLog, jobID, attempt, c.Start, c.Size, nonNil(c.Digest), c.Key).Scan(&done, &found)
		switch {
		case err != nil || done:
			return err
		case !found:
			return missing(pgx.ErrNoRows, "attempt")
		}
		return hub.ErrConflict
	})
}

// LogChunks implements hub.LogStore.
func (s *Store) LogChunks(ctx context.Context, jobID string, attempt int, from int64, limit int) ([]hub.LogChunk, error) {
	return collect(ctx, s, "list a log's chunks", scanChunk, selectChunks, jobID, attempt, from, limit)
}

// LogChunksBefore implements hub.LogStore.
func (s *Store) LogChunksBefore(ctx context.Context, jobID string, attempt int, before int64, limit int) ([]hub.LogChunk, error) {
	return collect(ctx, s, "list a log's chunks", scanChunk, selectChunksBefore, jobID, attempt, before, limit)
}

// DropLogChunks implements hub.LogStore.
func (s *Store) DropLogChunks(ctx context.Context, jobID string, attempt int, starts []int64) error {
	if len(starts) == 0 {
		return nil
	}
	return s.write(ctx, "drop a log's chunks", func(ctx context.Context) error {
		_, err := s.pool.Exec(ctx, deleteChunks, jobID, attempt, starts)
		return err
	})
}

func scanChunk(row pgx.CollectableRow) (c hub.LogChunk, err error) {
	err = row.Scan(&c.Start, &c.Size, &c.Digest, &c.Key)
	return c, err
}
