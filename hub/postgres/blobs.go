package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/runnerhub/runnerhub/hub"
)

// FindBlob implements hub.UploadStore.
func (s *Store) FindBlob(ctx context.Context, o hub.Owner, digest []byte) (hub.Blob, error) {
	return one(ctx, s, "blob", scanBlob, selectBlob, string(o), digest)
}

func scanBlob(row pgx.CollectableRow) (b hub.Blob, err error) {
	err = row.Scan(&b.ID, (*string)(&b.Owner), &b.Digest, &b.Size, &b.Key, (*stamp)(&b.CreatedAt), (*stamp)(&b.KeepUntil))
	return b, err
}

// optionalBlob takes a blob that may not be there.
type optionalBlob struct {
	id, owner, key   *string
	size             *int64
	digest           []byte
	created, expires stamp
}

func (b *optionalBlob) dest() []any {
	return []any{&b.id, &b.owner, &b.digest, &b.size, &b.key, &b.created, &b.expires}
}

func (b *optionalBlob) take() hub.Blob {
	return hub.Blob{
		ID: *b.id, Owner: hub.Owner(*b.owner), Digest: b.digest, Size: *b.size, Key: *b.key,
		CreatedAt: time.Time(b.created), KeepUntil: time.Time(b.expires),
	}
}

// KeepBlob implements hub.UploadStore.
func (s *Store) KeepBlob(ctx context.Context, id string, until time.Time) error {
	err := s.guarded(ctx, "keep a blob", keepBlob, id, until)
	if errors.Is(err, hub.ErrConflict) {
		return notFound("blob")
	}
	return err
}

// CondemnBlobs implements hub.UploadStore.
func (s *Store) CondemnBlobs(ctx context.Context, before time.Time, limit int) (list []hub.Blob, err error) {
	err = s.write(ctx, "condemn old blobs", func(ctx context.Context) (err error) {
		list, err = rows(ctx, s, scanBlob, condemnBlobs, before, limit)
		return err
	})
	return list, err
}

// CondemnBlob implements hub.UploadStore.
func (s *Store) CondemnBlob(ctx context.Context, id string) error {
	return s.exec(ctx, "condemn a blob", condemnBlob, id)
}

// DeleteBlob implements hub.UploadStore.
func (s *Store) DeleteBlob(ctx context.Context, id string) error {
	return s.exec(ctx, "delete a blob", deleteBlob, id)
}

// PutArtifact implements hub.UploadStore.
func (s *Store) PutArtifact(ctx context.Context, a hub.Artifact, c hub.UploadCaps) error {
	return s.write(ctx, "store an artifact", func(ctx context.Context) error {
		var (
			b    pgx.Batch
			used usage
			room bool
		)
		b.Queue(lockAttempt, a.JobID, a.Attempt)
		b.Queue(putArtifact, a.JobID, a.Attempt, text(a.Path), c.Count, c.Bytes, a.Size, text(a.Name), a.Digest, a.BlobID,
			stamp(a.CreatedAt), stamp(a.ExpiresAt), a.Executable).QueryRow(func(r pgx.Row) error {
			return r.Scan(&used.done, &room, (*string)(&used.attempt), &used.count, &used.bytes)
		})
		err := s.send(ctx, &b)
		switch {
		case err != nil || used.done:
			return err
		case room:
			return notFound("blob")
		}
		return used.refusal(hub.Upload{Kind: hub.UploadArtifact, Size: a.Size}, c)
	})
}

// ListArtifacts implements hub.UploadStore.
func (s *Store) ListArtifacts(ctx context.Context, jobID string, attempt int, afterPath string, limit int) ([]hub.Artifact, error) {
	return collect(ctx, s, "list artifacts", scanArtifact, selectArtifacts, jobID, attempt, afterPath, limit)
}

// GetArtifact implements hub.UploadStore.
func (s *Store) GetArtifact(ctx context.Context, jobID string, attempt int, path string) (hub.Artifact, error) {
	return one(ctx, s, "artifact", scanArtifact, selectArtifact, jobID, attempt, path)
}

func scanArtifact(row pgx.CollectableRow) (a hub.Artifact, err error) {
	err = row.Scan(&a.JobID, &a.Attempt, &a.Path, &a.Name, &a.Executable, &a.Size, &a.Digest, &a.BlobID, &a.Key,
		(*stamp)(&a.CreatedAt), (*stamp)(&a.ExpiresAt))
	return a, err
}

// DeleteArtifacts implements hub.UploadStore.
func (s *Store) DeleteArtifacts(ctx context.Context, before time.Time, limit int) (n int, err error) {
	err = s.write(ctx, "forget old artifacts", func(ctx context.Context) error {
		tag, err := s.pool.Exec(ctx, deleteArtifacts, before, limit)
		n = int(tag.RowsAffected())
		return err
	})
	return n, err
}
