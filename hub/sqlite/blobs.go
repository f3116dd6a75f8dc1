package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// FindBlob implements hub.UploadStore.
func (s *Store) FindBlob(ctx context.Context, o hub.Owner, digest []byte) (b hub.Blob, err error) {
	err = s.readRow(ctx, "find a blob", "blob", findBlob, []any{string(o), orNull(digest)}, func(r rowScanner) (err error) {
		b, err = scanBlob(r)
		return err
	})
	return b, err
}

func scanBlob(r rowScanner) (b hub.Blob, err error) {
	err = r.Scan(&b.ID, &b.Owner, &b.Digest, &b.Size, &b.Key, at(&b.CreatedAt), at(&b.KeepUntil))
	return b, err
}

// KeepBlob implements hub.UploadStore.
func (s *Store) KeepBlob(ctx context.Context, id string, until time.Time) error {
	return s.write(ctx, "keep a blob", func(t *tx) error { return t.keep(id, until) })
}

func (t *tx) keep(id string, until time.Time) error {
	err := t.one(keepBlob, stamp(until), id)
	if errors.Is(err, hub.ErrConflict) {
		return hub.Errorf(hub.NotFound, "no such blob")
	}
	return err
}

// CondemnBlobs implements hub.UploadStore.
func (s *Store) CondemnBlobs(ctx context.Context, before time.Time, limit int) ([]hub.Blob, error) {
	err := s.write(ctx, "condemn old blobs", func(t *tx) error {
		_, err := t.exec(condemnBlobs, stamp(before), limit, stamp(before))
		return err
	})
	if err != nil {
		return nil, err
	}
	return readAll(ctx, s, "list condemned blobs", oldBlobs, []any{stamp(before), limit}, scanBlob)
}

// CondemnBlob implements hub.UploadStore.
func (s *Store) CondemnBlob(ctx context.Context, id string) error {
	return s.write(ctx, "condemn a blob", func(t *tx) error {
		_, err := t.exec(condemnBlob, id)
		return err
	})
}

// DeleteBlob implements hub.UploadStore.
func (s *Store) DeleteBlob(ctx context.Context, id string) error {
	return s.write(ctx, "delete a blob", func(t *tx) error {
		_, err := t.exec(deleteBlob, id)
		return err
	})
}

// PutArtifact implements hub.UploadStore.
func (s *Store) PutArtifact(ctx context.Context, a hub.Artifact, c hub.UploadCaps) error {
	return s.write(ctx, "store an artifact", func(t *tx) error {
		if err := t.room(hub.Upload{Kind: hub.UploadArtifact, JobID: a.JobID, Attempt: a.Attempt, File: a.ArtifactFile, Size: a.Size}, c); err != nil {
			return err
		}
		if err := t.keep(a.BlobID, a.ExpiresAt); err != nil {
			return err
		}
		return t.artifact(a)
	})
}

func (t *tx) artifact(a hub.Artifact) error {
	_, err := t.exec(putArtifact, a.JobID, a.Attempt, a.Path, a.Name, a.Executable, a.Size, a.Digest, a.BlobID, stamp(a.CreatedAt), stamp(a.ExpiresAt))
	return err
}

// ListArtifacts implements hub.UploadStore.
func (s *Store) ListArtifacts(ctx context.Context, jobID string, attempt int, afterPath string, limit int) ([]hub.Artifact, error) {
	return readAll(ctx, s, "list artifacts", listArtifacts, []any{jobID, attempt, afterPath, limit}, scanArtifact)
}

// GetArtifact implements hub.UploadStore.
func (s *Store) GetArtifact(ctx context.Context, jobID string, attempt int, path string) (a hub.Artifact, err error) {
	err = s.readRow(ctx, "read an artifact", "artifact", artifactByPath, []any{jobID, attempt, path}, func(r rowScanner) (err error) {
		a, err = scanArtifact(r)
		return err
	})
	return a, err
}

func scanArtifact(r rowScanner) (a hub.Artifact, err error) {
	err = r.Scan(&a.JobID, &a.Attempt, &a.Path, &a.Name, &a.Executable, &a.Size, &a.Digest, &a.BlobID, &a.Key, at(&a.CreatedAt), at(&a.ExpiresAt))
	return a, err
}

// DeleteArtifacts implements hub.UploadStore.
func (s *Store) DeleteArtifacts(ctx context.Context, before time.Time, limit int) (int, error) {
	var n int64
	err := s.write(ctx, "forget old artifacts", func(t *tx) (err error) {
		n, err = t.exec(deleteArtifacts, stamp(before), limit)
		return err
	})
	return int(n), err
}
