package dispatch

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/google/uuid"

	"github.com/runnerhub/runnerhub/hub"
)

// WriteUpload takes bytes of the upload whose capability has the digest, from an offset on, and says from where to go on.
// It is idempotent by offset: bytes that are stored already are skipped, since all are checked at the end. length is
// how many bytes come, -1 for not known. With the last ones everything is read once more; what is not what was
// announced is dropped, and nobody ever sees it. Errors: NotFound, StaleLease, TooLarge, InvalidArgument, and with details
// next_offset Conflict where bytes are missing before these and Unavailable where these ended early.
func (s *Service) WriteUpload(ctx context.Context, capDigest []byte, offset, length int64, body io.Reader) (hub.UploadProgress, error) {
	ctx, cancel := context.WithTimeout(ctx, s.partWithin)
	defer cancel()
	body = timedReader{ctx, body}
	u, over, err := s.upload(ctx, capDigest)
	switch {
	case err != nil || over.Done:
		return over, err
	case offset < 0 || length > MaxUploadPart || offset+max(0, length) > u.Size:
		return hub.UploadProgress{}, s.badRange(u, offset, length)
	case offset > u.Received:
		return hub.UploadProgress{}, resumeAt(u.Received)
	}
	if skipped, err := io.CopyN(io.Discard, body, u.Received-offset); err != nil {
		if errors.Is(err, io.EOF) { // nothing new in it
			return hub.UploadProgress{NextOffset: u.Received}, nil
		}
		return hub.UploadProgress{}, cutShort(u, skipped, err)
	}
	switch {
	case u.Received == u.Size:
		return s.finish(ctx, u)
	case u.Received == 0 && length == u.Size: // all of it at once, which need not be stored twice
		return s.makeBlob(ctx, u, body)
	}
	return s.keepPart(ctx, u, offset+length, body)
}

// timedReader reads until a context ends.
type timedReader struct {
	ctx context.Context
	r   io.Reader
}

func (t timedReader) Read(p []byte) (int, error) {
	if err := t.ctx.Err(); err != nil {
		return 0, err
	}
	return t.r.Read(p)
}

// upload is the upload as it is now, for its sender. Where all of it is there, over says so.
func (s *Service) upload(ctx context.Context, capDigest []byte) (u hub.Upload, over hub.UploadProgress, err error) {
	if u, err = s.store.UploadByToken(ctx, capDigest); err == nil {
		err = s.takesBytes(ctx, u)
	}
	if err == nil && u.State == hub.UploadDone {
		over = hub.UploadProgress{NextOffset: u.Size, Done: true}
	}
	return u, over, err
}

// takesBytes says whether an upload is there for its sender.
func (s *Service) takesBytes(ctx context.Context, u hub.Upload) error {
	switch {
	case u.State == hub.UploadDropped, u.State == hub.UploadOpen && s.clock.now().After(u.ExpiresAt):
		return hub.Errorf(hub.NotFound, "this upload has ended").WithHint("announce the bytes again")
	case u.State == hub.UploadDone || u.Kind != hub.UploadArtifact:
		return nil
	}
	a, err := s.store.GetAttempt(ctx, u.JobID, u.Attempt)
	if err == nil && !a.State.Live() {
		err = hub.StaleAttempt(a.State)
	}
	return err
}

func (s *Service) badRange(u hub.Upload, offset, length int64) error {
	if length > MaxUploadPart {
		return hub.Errorf(hub.TooLarge, "the part has %d bytes and may have %d", length, int64(MaxUploadPart)).
			WithDetail("limit", "max_upload_part").WithDetail("max", int64(MaxUploadPart))
	}
	return hub.Errorf(hub.InvalidArgument, "bytes %d to %d are not within the %d that were announced", offset, offset+max(0, length), u.Size).
		WithHint("go on from next_offset").WithDetail("next_offset", u.Received)
}

func resumeAt(offset int64) error {
	return hub.Errorf(hub.Conflict, "the upload has %d bytes, and these do not start there", offset).
		WithHint("send from next_offset").WithDetail("next_offset", offset)
}

// cutShort is the answer to a body that stopped coming. It is the line's fault and not the sender's: whoever still hears it
// is to send the same again.
func cutShort(u hub.Upload, n int64, err error) error {
	if _, ok := errors.AsType[*hub.Error](err); ok {
		return err
	}
	e := hub.Errorf(hub.Unavailable, "the request's body ended early, after %d bytes", n).
		WithHint("send it again from next_offset").WithDetail("next_offset", u.Received)
	e.Retryable, e.Err = true, err
	return e
}

// keepPart stores a part, the last one like any other: what one request costs the hub is what it sent. It was said to end at end, which means nothing where that is
// before what is stored.
func (s *Service) keepPart(ctx context.Context, u hub.Upload, end int64, body io.Reader) (hub.UploadProgress, error) {
	p := hub.UploadPart{Start: u.Received, Key: fmt.Sprintf("%s/%020d-%s", uploadFolder(u.ID), u.Received, uuid.NewString())}
	w, err := s.bucket.Create(ctx, p.Key)
	if err != nil {
		return hub.UploadProgress{}, unavailable("the bytes could not be stored", err)
	}
	defer w.Close()
	most := min(MaxUploadPart, u.Size-u.Received)
	p.Size, err = io.Copy(w, io.LimitReader(body, most+1))
	switch {
	case err != nil || p.Size < end-u.Received:
		return hub.UploadProgress{}, cutShort(u, p.Size, err)
	case p.Size > most:
		return hub.UploadProgress{}, s.badRange(u, u.Received, p.Size)
	case p.Size == 0:
		return hub.UploadProgress{NextOffset: u.Received}, nil
	case p.Size < MinUploadPart && p.Size < u.Size-u.Received:
		return hub.UploadProgress{}, hub.Errorf(hub.InvalidArgument, "a part that is not the last has at least %d bytes, and this one has %d", MinUploadPart, p.Size).
			WithHint("send larger parts")
	}
	if err := w.Commit(); err != nil {
		return hub.UploadProgress{}, unavailable("the bytes could not be stored", err)
	}
	// Bytes before their row: a row always has its bytes.
	if err := s.store.GrowUpload(ctx, u.ID, p); err != nil {
		if errors.Is(err, hub.ErrConflict) { // somebody else's turn
			s.forgetBytes(ctx, p.Key)
			return s.progress(ctx, u)
		}
		return hub.UploadProgress{}, err
	}
	if u.Received += p.Size; u.Received == u.Size {
		return s.finish(ctx, u)
	}
	return hub.UploadProgress{NextOffset: u.Received}, nil
}

// progress is where an upload is that somebody else has written to.
func (s *Service) progress(ctx context.Context, u hub.Upload) (hub.UploadProgress, error) {
	u, over, err := s.upload(ctx, u.TokenDigest)
	if err != nil || over.Done {
		return over, err
	}
	return hub.UploadProgress{}, resumeAt(u.Received)
}

// forgetBytes deletes a blob that nothing refers to; what is left is for the sweep.
func (s *Service) forgetBytes(ctx context.Context, key string) {
	if err := s.deleteBytes(ctx, key); err != nil {
		s.log.Warn("bytes that nothing refers to are left to the sweep", "key", key, "error", err)
	}
}

func (s *Service) dropFolder(ctx context.Context, folder string) {
	if err := s.bucket.DeleteAll(context.WithoutCancel(ctx), folder); err != nil {
		s.log.Warn("bytes that nothing refers to are left to the sweep", "folder", folder, "error", err)
	}
}

// uploadFolder is where an upload's parts are in the bucket.
func uploadFolder(id string) string { return "uploads/" + id }

// blobFolder is where the bytes of the blob are that comes of an upload, alone.
func blobFolder(id string) string { return "blobs/" + id }

func blobKey(id string) string { return blobFolder(id) + "/bytes" }
