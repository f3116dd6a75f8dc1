package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/runnerhub/runnerhub/hub"
)

const (
	growLog      = `UPDATE attempts SET log_size = log_size + ? WHERE job_id = ? AND number = ? AND log_size = ?`
	hasAttempt   = `SELECT 1 FROM attempts WHERE job_id = ? AND number = ?`
	insertChunk  = `INSERT INTO log_chunks (job_id, attempt, start_offset, size, digest, bucket_key) VALUES (?, ?, ?, ?, ?, ?)`
	chunkColumns = `start_offset, size, digest, bucket_key`
	// Chunks do not overlap, so the first that ends after an offset is the last that starts at or before it, or the next one.
	listChunks = `SELECT ` + chunkColumns + ` FROM log_chunks
		WHERE job_id = :job AND attempt = :attempt AND start_offset + size > :from
			AND start_offset >= coalesce((SELECT max(start_offset) FROM log_chunks
				WHERE job_id = :job AND attempt = :attempt AND start_offset <= :from), 0)
		ORDER BY start_offset LIMIT :limit`
	listChunksBefore = `SELECT ` + chunkColumns + ` FROM log_chunks
		WHERE job_id = ? AND attempt = ? AND start_offset < ? ORDER BY start_offset DESC LIMIT ?`
	dropChunk = `DELETE FROM log_chunks WHERE job_id = ? AND attempt = ? AND start_offset = ?`
)

// AttemptByLog implements hub.LogStore.
func (s *Store) AttemptByLog(ctx context.Context, digest []byte) (hub.Attempt, error) {
	return s.attempt(ctx, attemptByLog, orNull(digest))
}

// AppendLog implements hub.LogStore.
func (s *Store) AppendLog(ctx context.Context, jobID string, attempt int, c hub.LogChunk) error {
	if c.Size <= 0 {
		return hub.Errorf(hub.InvalidArgument, "a chunk of a log has %d bytes", c.Size)
	}
	return s.write(ctx, "append to a log", func(t *tx) error {
		err := t.one(growLog, c.Size, jobID, attempt, c.Start)
		if errors.Is(err, hub.ErrConflict) {
			var one int
			if missing := t.row(hasAttempt, jobID, attempt).Scan(&one); errors.Is(missing, sql.ErrNoRows) {
				return hub.Errorf(hub.NotFound, "no such attempt")
			}
		}
		if err != nil {
			return err
		}
		_, err = t.exec(insertChunk, jobID, attempt, c.Start, c.Size, orEmpty(c.Digest), c.Key)
		return err
	})
}

// LogChunks implements hub.LogStore.
func (s *Store) LogChunks(ctx context.Context, jobID string, attempt int, from int64, limit int) ([]hub.LogChunk, error) {
	return readAll(ctx, s, "read a log's index", listChunks, []any{
		sql.Named("job", jobID), sql.Named("attempt", attempt), sql.Named("from", from), sql.Named("limit", limit),
	}, scanChunk)
}

// LogChunksBefore implements hub.LogStore.
func (s *Store) LogChunksBefore(ctx context.Context, jobID string, attempt int, before int64, limit int) ([]hub.LogChunk, error) {
	return readAll(ctx, s, "read a log's index", listChunksBefore, []any{jobID, attempt, before, limit}, scanChunk)
}

func scanChunk(r rowScanner) (c hub.LogChunk, err error) {
	err = r.Scan(&c.Start, &c.Size, &c.Digest, &c.Key)
	return c, err
}

// DropLogChunks implements hub.LogStore.
func (s *Store) DropLogChunks(ctx context.Context, jobID string, attempt int, starts []int64) error {
	if len(starts) == 0 {
		return nil
	}
	return s.write(ctx, "drop parts of a log", func(t *tx) error {
		for _, start := range starts {
			if _, err := t.exec(dropChunk, jobID, attempt, start); err != nil {
				return err
			}
		}
		return nil
	})
}
