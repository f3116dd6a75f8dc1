package memory

import (
	"context"
	"slices"

	"github.com/runnerhub/runnerhub/hub"
)

// ListAttempts implements hub.JobStore.
func (s *Store) ListAttempts(ctx context.Context, jobID string) (out []hub.Attempt, err error) {
	err = s.read(ctx, func() error {
		if r := s.jobs[jobID]; r != nil {
			for _, a := range r.attempts {
				listed := a.Attempt
				listed.Result = nil
				out = append(out, copyAttempt(listed))
			}
		}
		return nil
	})
	return out, err
}

// GetAttempt implements hub.JobStore.
func (s *Store) GetAttempt(ctx context.Context, jobID string, number int) (hub.Attempt, error) {
	return s.oneAttempt(ctx, func() *attempt { return s.attempt(jobID, number) })
}

// AttemptByLog implements hub.LogStore.
func (s *Store) AttemptByLog(ctx context.Context, digest []byte) (hub.Attempt, error) {
	return s.oneAttempt(ctx, func() *attempt { return s.logs[string(digest)] })
}

func (s *Store) oneAttempt(ctx context.Context, find func() *attempt) (out hub.Attempt, err error) {
	err = s.read(ctx, func() error {
		a := find()
		if a == nil {
			return missing("attempt")
		}
		out = copyAttempt(a.Attempt)
		return nil
	})
	return out, err
}

// attempt finds one, or nil.
func (s *Store) attempt(jobID string, number int) *attempt {
	if r := s.jobs[jobID]; r != nil {
		return r.attempt(number)
	}
	return nil
}

// AppendLog implements hub.LogStore.
func (s *Store) AppendLog(ctx context.Context, jobID string, number int, c hub.LogChunk) error {
	if c.Size <= 0 {
		return hub.Errorf(hub.InvalidArgument, "a chunk of a log has %d bytes", c.Size)
	}
	return s.write(ctx, func() error {
		a := s.attempt(jobID, number)
		switch {
		case a == nil:
			return missing("attempt")
		case a.LogSize != c.Start:
			return hub.ErrConflict
		}
		a.LogSize += c.Size
		a.chunks = append(a.chunks, copyChunk(c))
		return nil
	})
}

// LogChunks implements hub.LogStore.
func (s *Store) LogChunks(ctx context.Context, jobID string, number int, from int64, limit int) (out []hub.LogChunk, err error) {
	err = s.read(ctx, func() error {
		if a := s.attempt(jobID, number); a != nil {
			first, _ := slices.BinarySearchFunc(a.chunks, from, func(c hub.LogChunk, from int64) int {
				if c.Start+c.Size > from {
					return 1
				}
				return -1
			})
			for _, c := range a.chunks[first:min(len(a.chunks), first+limit)] {
				out = append(out, copyChunk(c))
			}
		}
		return nil
	})
	return out, err
}

// LogChunksBefore implements hub.LogStore.
func (s *Store) LogChunksBefore(ctx context.Context, jobID string, number int, before int64, limit int) (out []hub.LogChunk, err error) {
	err = s.read(ctx, func() error {
		if a := s.attempt(jobID, number); a != nil {
			for _, c := range slices.Backward(a.chunks) {
				if len(out) == limit {
					break
				}
				if c.Start < before {
					out = append(out, copyChunk(c))
				}
			}
		}
		return nil
	})
	return out, err
}

// DropLogChunks implements hub.LogStore.
func (s *Store) DropLogChunks(ctx context.Context, jobID string, number int, starts []int64) error {
	return s.write(ctx, func() error {
		if a := s.attempt(jobID, number); a != nil {
			a.chunks = slices.DeleteFunc(a.chunks, func(c hub.LogChunk) bool { return slices.Contains(starts, c.Start) })
		}
		return nil
	})
}
