package dispatch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/runnerhub/runnerhub/hub"
)

// turns let one at a time do what is keyed.
type turns struct {
	mu   sync.Mutex
	busy map[string]chan struct{} // closed when the turn ends
}

func newTurns() *turns { return &turns{busy: map[string]chan struct{}{}} }

// take waits for its turn until ctx ends. The turn ends with the call of done.
func (t *turns) take(ctx context.Context, key string) (done func(), err error) {
	for {
		t.mu.Lock()
		before := t.busy[key]
		if before == nil {
			own := make(chan struct{})
			t.busy[key] = own
			t.mu.Unlock()
			return func() {
				t.mu.Lock()
				delete(t.busy, key)
				t.mu.Unlock()
				close(own)
			}, nil
		}
		t.mu.Unlock()
		select {
		case <-before:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// finish ends an upload whose bytes are all stored. They are copied, so that one call at a time does it, however many ask:
// those that come meanwhile wait, and find it done.
func (s *Service) finish(ctx context.Context, u hub.Upload) (hub.UploadProgress, error) {
	done, err := s.finishing.take(ctx, u.ID)
	if err != nil {
		return hub.UploadProgress{}, err
	}
	defer done()
	u, over, err := s.upload(ctx, u.TokenDigest)
	if err != nil || over.Done {
		return over, err
	}
	return s.makeBlob(ctx, u, bytes.NewReader(nil))
}

// makeBlob makes the blob of what is stored and of the rest of the bytes. Two hubs at once write the same bytes to the same
// key, and one of them has its say in the store.
func (s *Service) makeBlob(ctx context.Context, u hub.Upload, rest io.Reader) (hub.UploadProgress, error) {
	key := blobKey(u.ID)
	w, err := s.bucket.Create(ctx, key)
	if err != nil {
		return hub.UploadProgress{}, unavailable("the bytes could not be stored", err)
	}
	defer w.Close()
	hash := sha256.New()
	to := io.MultiWriter(w, hash)
	if err := s.copyParts(ctx, u, to); err != nil {
		return hub.UploadProgress{}, err
	}
	missing := u.Size - u.Received
	switch n, err := io.Copy(to, io.LimitReader(rest, missing+1)); {
	case err != nil || n < missing:
		return hub.UploadProgress{}, cutShort(u, n, err)
	case n > missing:
		return hub.UploadProgress{}, s.badRange(u, u.Received, n)
	}
	if sum := hash.Sum(nil); !bytes.Equal(sum, u.Digest) {
		return hub.UploadProgress{}, s.dropWrong(ctx, u, sum)
	}
	if err := w.Commit(); err != nil {
		return hub.UploadProgress{}, unavailable("the bytes could not be stored", err)
	}
	now := s.clock.now()
	kept, err := s.store.FinishUpload(ctx, u.ID, hub.Blob{
		ID: u.ID, Owner: u.Owner, Digest: u.Digest, Size: u.Size, Key: key, CreatedAt: now, KeepUntil: now.Add(s.policy.ArtifactRetention),
	})
	if errors.Is(err, hub.ErrConflict) {
		return s.tooLate(ctx, u)
	}
	if err != nil {
		return hub.UploadProgress{}, err
	}
	s.dropFolder(ctx, uploadFolder(u.ID))
	if kept.ID != u.ID { // the owner has got these bytes another way meanwhile
		s.dropFolder(ctx, blobFolder(u.ID))
	}
	return hub.UploadProgress{NextOffset: u.Size, Done: true}, nil
}

// tooLate is the end of a finish whose upload ended before it did: by another hub's finish, or because its time was over.
// Where no blob is of these bytes, no row names them, and no sweep would find them.
func (s *Service) tooLate(ctx context.Context, u hub.Upload) (hub.UploadProgress, error) {
	now, err := s.store.UploadByToken(ctx, u.TokenDigest)
	if hub.CodeOf(err) == hub.NotFound || err == nil && now.State != hub.UploadOpen && now.BlobID != u.ID {
		s.dropFolder(ctx, blobFolder(u.ID))
	}
	return s.progress(ctx, u)
}

// copyParts copies what is stored of an upload.
func (s *Service) copyParts(ctx context.Context, u hub.Upload, to io.Writer) error {
	for at := int64(0); at < u.Received; {
		parts, err := s.store.UploadParts(ctx, u.ID, at, page)
		if err != nil {
			return err
		}
		if len(parts) == 0 || parts[0].Start != at {
			return hub.Errorf(hub.Internal, "upload %s has no part at %d", u.ID, at)
		}
		for _, p := range parts {
			if err := s.copyBlob(ctx, p.Key, p.Size, to); err != nil {
				return err
			}
			at = p.Start + p.Size
		}
	}
	return nil
}

func (s *Service) copyBlob(ctx context.Context, key string, size int64, to io.Writer) error {
	r, err := s.bucket.Open(ctx, key, 0, -1)
	if err != nil {
		return unavailable("the bytes could not be read", err)
	}
	defer r.Close()
	n, err := io.Copy(to, r)
	if err == nil && n != size {
		err = fmt.Errorf("blob %s has %d bytes and should have %d", key, n, size)
	}
	if err != nil {
		return unavailable("the bytes could not be copied", err)
	}
	return nil
}

// dropWrong ends an upload of other bytes than were announced.
func (s *Service) dropWrong(ctx context.Context, u hub.Upload, sum []byte) error {
	if err := s.store.DropUpload(ctx, u.ID); err != nil && !errors.Is(err, hub.ErrConflict) {
		return err
	}
	s.dropFolder(ctx, uploadFolder(u.ID))
	return hub.Errorf(hub.InvalidArgument, "the bytes have the sha256 %x and %x was announced; nothing of them was kept", sum, u.Digest).
		WithHint("announce the file as it is now and send it again").WithDetail("sha256", hex.EncodeToString(sum))
}
