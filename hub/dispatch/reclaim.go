package dispatch

import (
	"context"
	"errors"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// How old artifacts, blobs and uploads are let go of: in small bites, as retention does.
const (
	reclaimEvery = time.Minute
	reclaimPage  = 50
	// reclaimGrace is how long after its time something is left alone, so that calls that found it can end.
	reclaimGrace = time.Hour
)

// runReclaim lets go of what is too old, from time to time, while this hub leads.
func (s *Service) runReclaim(ctx context.Context) {
	for pause(ctx, reclaimEvery) {
		if !s.Leads() {
			continue
		}
		n, err := s.reclaim(ctx, s.Leads)
		if n > 0 {
			s.log.Info("deleted old artifacts, archives and uploads", "count", n)
		}
		if err != nil && ctx.Err() == nil {
			s.log.Warn("not all old artifacts and uploads were deleted; the next round goes on", "error", err)
		}
	}
}

// Reclaim deletes artifacts and blobs whose time is over and uploads that nobody finished, and answers how many of all
// these there were. Run does it by itself, on one hub at a time. It is safe to kill at any moment.
func (s *Service) Reclaim(ctx context.Context) (int, error) {
	return s.reclaim(ctx, func() bool { return true })
}

// reclaim goes on while may says so. Bytes go before the rows that name them, and rows that others could still find are
// closed to them first.
func (s *Service) reclaim(ctx context.Context, may func() bool) (int, error) {
	now := s.clock.now()
	total := 0
	var failed error
	for _, step := range []func(context.Context, time.Time) (int, error){s.reclaimUploads, s.reclaimArtifacts, s.reclaimBlobs} {
		for may() {
			began := time.Now()
			n, err := step(ctx, now)
			total += n
			if err != nil {
				failed = errors.Join(failed, err)
				break
			}
			if n < reclaimPage {
				break
			}
			if !rest(ctx, began) {
				return total, errors.Join(failed, ctx.Err())
			}
		}
	}
	return total, failed
}

// reclaimUploads forgets uploads that have expired, with what they left in the bucket.
func (s *Service) reclaimUploads(ctx context.Context, now time.Time) (int, error) {
	list, err := s.store.OldUploads(ctx, now.Add(-reclaimGrace), reclaimPage)
	if err != nil {
		return 0, err
	}
	for n, u := range list {
		if u.State == hub.UploadOpen {
			// Without this a finish that is late could make a blob of bytes that are about to go.
			if err := s.store.DropUpload(ctx, u.ID); err != nil {
				return n, err
			}
		}
		err := s.bucket.DeleteAll(ctx, uploadFolder(u.ID))
		if err == nil && u.BlobID != u.ID { // no blob came of it: what is there was left by a hub that was killed
			err = s.bucket.DeleteAll(ctx, blobFolder(u.ID))
		} else if err == nil { // the blob, and perhaps what another finish of it left unfinished
			err = s.bucket.DeleteAll(ctx, blobFolder(u.ID), blobKey(u.ID))
		}
		if err == nil {
			err = s.store.DeleteUpload(ctx, u.ID)
		}
		if err != nil {
			return n, err
		}
	}
	return len(list), nil
}

func (s *Service) reclaimArtifacts(ctx context.Context, now time.Time) (int, error) {
	return s.store.DeleteArtifacts(ctx, now, reclaimPage)
}

func (s *Service) reclaimBlobs(ctx context.Context, now time.Time) (int, error) {
	list, err := s.store.CondemnBlobs(ctx, now.Add(-reclaimGrace), reclaimPage)
	if err != nil {
		return 0, err
	}
	for n, b := range list {
		err := s.bucket.DeleteAll(ctx, blobFolder(b.ID))
		if err == nil {
			err = s.store.DeleteBlob(ctx, b.ID)
		}
		if err != nil {
			return n, err
		}
	}
	return len(list), nil
}
