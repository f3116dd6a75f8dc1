package dispatch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/runnerhub/runnerhub/hub"
)

// AppendLog adds bytes to the log whose capability has the digest, and returns
// the offset to go on from. It is idempotent by offset: bytes that are stored already are accepted,
// also where more follow. Errors: NotFound, TooLarge, StaleLease for an attempt that was
// given up, Conflict with details next_offset for a gap and for other bytes than the stored ones.
func (s *Service) AppendLog(ctx context.Context, capDigest []byte, offset int64, data []byte) (next int64, err error) {
	switch {
	case len(data) > MaxLogChunk:
		return 0, hub.Errorf(hub.TooLarge, "the chunk has %d bytes and may have %d", len(data), MaxLogChunk).
			WithDetail("limit", "max_log_chunk").WithDetail("max", MaxLogChunk)
	case offset < 0:
		return 0, hub.Errorf(hub.InvalidArgument, "offset %d is negative", offset)
	}
	for range maxTries {
		a, err := s.store.AttemptByLog(ctx, capDigest)
		if hub.CodeOf(err) == hub.NotFound {
			return 0, hub.Errorf(hub.NotFound, "no log has this capability").WithHint("use the log_url of the lease as it is")
		}
		if err != nil {
			return 0, err
		}
		if err := s.logOpen(a); err != nil {
			return 0, err
		}
		next, err := s.appendTo(ctx, a, offset, data)
		if !errors.Is(err, hub.ErrConflict) {
			return next, err
		}
		if err := ctx.Err(); err != nil { // somebody else appended: look again
			return 0, err
		}
	}
	return 0, errBusy()
}

// logOpen says whether an attempt's log still takes bytes.
func (s *Service) logOpen(a hub.Attempt) error {
	switch {
	case a.State.Live():
		return nil
	case a.State == hub.AttemptLost || a.State == hub.AttemptReleased:
		return hub.Errorf(hub.StaleLease, "the attempt was given up: %s", a.State).
			WithHint("drop the rest of its log; the job runs elsewhere or has ended")
	case s.clock.now().Sub(a.EndedAt) > s.policy.LogGrace:
		return hub.Errorf(hub.StaleLease, "the attempt ended more than %s ago and its log is closed", s.policy.LogGrace).
			WithHint("drop the rest of its log")
	}
	return nil
}

func (s *Service) appendTo(ctx context.Context, a hub.Attempt, offset int64, data []byte) (int64, error) {
	end := offset + int64(len(data))
	if offset > a.LogSize {
		return 0, hub.Errorf(hub.Conflict, "the log has %d bytes, and these start at %d", a.LogSize, offset).
			WithHint("send from next_offset").WithDetail("next_offset", a.LogSize)
	}
	if stored := min(end, a.LogSize) - offset; stored > 0 {
		same, err := s.sameBytes(ctx, a, offset, data[:stored])
		if err != nil {
			return 0, err
		}
		if !same {
			return 0, hub.Errorf(hub.Conflict, "other bytes are stored at this offset").
				WithHint("a log is never rewritten; go on from next_offset").WithDetail("next_offset", a.LogSize)
		}
		data = data[stored:]
	}
	if len(data) == 0 {
		return a.LogSize, nil
	}
	digest := sha256.Sum256(data)
	c := hub.LogChunk{
		// The key is this call's alone, so that dropping what lost a race drops nobody else's bytes.
		Start: a.LogSize, Size: int64(len(data)), Digest: digest[:],
		Key: fmt.Sprintf("%s/%d/%020d-%s", logFolder(a.JobID), a.Number, a.LogSize, uuid.NewString()),
	}
	// Bytes before their index row: a row always has its bytes.
	if err := s.bucket.Put(ctx, c.Key, data); err != nil {
		return 0, unavailable("the log's bytes could not be stored", err)
	}
	if err := s.store.AppendLog(ctx, a.JobID, a.Number, c); err != nil {
		if errors.Is(err, hub.ErrConflict) || hub.CodeOf(err) == hub.NotFound { // somebody else's turn, or the job is gone
			if err := s.deleteBytes(ctx, c.Key); err != nil {
				s.log.Warn("bytes of a log that nothing refers to are left to retention", "key", c.Key, "error", err)
			}
		}
		return 0, err
	}
	s.changed(a.JobID, false)
	s.dropMiddle(ctx, a, end)
	return end, nil
}

// sameBytes compares bytes with the stored ones. What was dropped over the cap cannot be compared and counts as the same.
func (s *Service) sameBytes(ctx context.Context, a hub.Attempt, offset int64, data []byte) (bool, error) {
	end := offset + int64(len(data))
	for at := offset; at < end; {
		chunks, err := s.store.LogChunks(ctx, a.JobID, a.Number, at, page)
		if err != nil {
			return false, err
		}
		for _, c := range chunks {
			if c.Start >= end {
				return true, nil
			}
			from, to := max(c.Start, offset), min(c.Start+c.Size, end)
			want := data[from-offset : to-offset]
			if from == c.Start && to == c.Start+c.Size {
				if d := sha256.Sum256(want); !bytes.Equal(d[:], c.Digest) {
					return false, nil
				}
			} else {
				have, err := s.chunk(ctx, c)
				if err != nil {
					return false, err
				}
				if have == nil { // dropped since it was listed
					continue
				}
				if !bytes.Equal(have[from-c.Start:to-c.Start], want) {
					return false, nil
				}
			}
			at = to
		}
		if len(chunks) < page {
			return true, nil
		}
		at = max(at, chunks[len(chunks)-1].Start+chunks[len(chunks)-1].Size)
	}
	return true, nil
}

// dropMiddle keeps a log under its cap: chunks that lie wholly between its head
// and its tail go. A failure is made up for by the next append.
func (s *Service) dropMiddle(ctx context.Context, a hub.Attempt, size int64) {
	half := s.policy.MaxLogBytes / 2
	if size <= s.policy.MaxLogBytes {
		return
	}
	chunks, err := s.store.LogChunks(ctx, a.JobID, a.Number, half, page)
	if err != nil {
		s.log.Warn("a log over its cap could not be looked at", "job", a.JobID, "attempt", a.Number, "error", err)
		return
	}
	var (
		starts []int64
		keys   []string
	)
	for _, c := range chunks {
		if c.Start >= half && c.Start+c.Size <= size-half {
			starts, keys = append(starts, c.Start), append(keys, c.Key)
		}
	}
	if len(starts) == 0 {
		return
	}
	// Bytes before their index rows, as everywhere: a hub that is killed in between leaves rows, which the
	// next append finds again, and readers show as the gap that they become.
	err = s.deleteBytes(ctx, keys...)
	if err == nil {
		err = s.store.DropLogChunks(ctx, a.JobID, a.Number, starts)
	}
	if err != nil {
		s.log.Warn("the middle of a log over its cap was not dropped", "job", a.JobID, "attempt", a.Number, "error", err)
	}
}

// deleteBytes deletes blobs, also those that are gone already.
func (s *Service) deleteBytes(ctx context.Context, keys ...string) error {
	for _, k := range keys {
		if err := s.bucket.Delete(context.WithoutCancel(ctx), k); err != nil && hub.CodeOf(err) != hub.NotFound {
			return err
		}
	}
	return nil
}

func unavailable(what string, err error) error {
	if _, ok := errors.AsType[*hub.Error](err); ok {
		return err
	}
	return &hub.Error{Code: hub.Unavailable, Message: what, Hint: "call again", Retryable: true, Err: err}
}
