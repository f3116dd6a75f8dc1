package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/runnerhub/runnerhub/hub"
)

// CreateUpload implements hub.UploadStore.
func (s *Store) CreateUpload(ctx context.Context, u hub.Upload, c hub.UploadCaps) error {
	row := []any{u.ID, string(u.Kind), string(u.Owner), u.CreatedBy, u.TokenDigest}
	rest := []any{u.Digest, u.Received, string(u.State), u.BlobID, stamp(u.CreatedAt), stamp(u.ExpiresAt)}
	return s.write(ctx, "announce an upload", func(ctx context.Context) error {
		var b pgx.Batch
		var used usage
		if u.Kind == hub.UploadArtifact {
			b.Queue(lockAttempt, u.JobID, u.Attempt)
			args := append([]any{u.JobID, u.Attempt, text(u.File.Path), c.Count, c.Bytes, u.Size}, row...)
			b.Queue(createArtifactUpload, append(append(args, rest...), text(u.File.Name), u.File.Executable)...).QueryRow(used.scan)
		} else {
			b.Queue(createUpload, append(append(append(row, u.Size), rest...), c.Count, c.Bytes)...).QueryRow(used.scan)
		}
		if err := s.send(ctx, &b); err != nil || used.done {
			return err
		}
		return used.refusal(u, c)
	})
}

// usage is what counts beside an upload, and whether it was stored.
type usage struct {
	done    bool
	attempt hub.AttemptState
	count   int
	bytes   int64
}

func (u *usage) scan(r pgx.Row) error {
	return r.Scan(&u.done, (*string)(&u.attempt), &u.count, &u.bytes)
}

func (u *usage) refusal(up hub.Upload, c hub.UploadCaps) error {
	if up.Kind == hub.UploadArtifact && u.attempt == "" {
		return notFound("attempt")
	}
	if err := c.Check(up, u.attempt, u.count, u.bytes); err != nil {
		return err
	}
	return errors.New("postgres: an upload was refused for a reason that the domain does not have")
}

// UploadByToken implements hub.UploadStore.
func (s *Store) UploadByToken(ctx context.Context, digest []byte) (hub.Upload, error) {
	return one(ctx, s, "upload", scanUpload, selectUploadByToken, digest)
}

// OpenUpload implements hub.UploadStore.
func (s *Store) OpenUpload(ctx context.Context, u hub.Upload) (hub.Upload, error) {
	return one(ctx, s, "upload", scanUpload, selectOpenUpload, string(u.Owner), u.Digest, string(u.Kind), u.CreatedBy, u.Size,
		u.JobID, u.Attempt, text(u.File.Name), text(u.File.Path), u.File.Executable)
}

func scanUpload(row pgx.CollectableRow) (u hub.Upload, err error) {
	err = row.Scan(&u.ID, (*string)(&u.Kind), (*string)(&u.Owner), &u.CreatedBy, &u.TokenDigest, &u.Size, &u.Digest, &u.Received,
		(*string)(&u.State), &u.BlobID, (*stamp)(&u.CreatedAt), (*stamp)(&u.ExpiresAt),
		&u.JobID, &u.Attempt, &u.File.Name, &u.File.Path, &u.File.Executable)
	return u, err
}

// GrowUpload implements hub.UploadStore.
func (s *Store) GrowUpload(ctx context.Context, id string, p hub.UploadPart) error {
	return s.guarded(ctx, "add to an upload", growUpload, id, p.Start, p.Size, p.Key)
}

// guarded runs a statement that writes nothing when it finds another row than was decided on.
func (s *Store) guarded(ctx context.Context, doing, sql string, args ...any) error {
	return s.write(ctx, doing, func(ctx context.Context) error {
		tag, err := s.pool.Exec(ctx, sql, args...)
		if err == nil && tag.RowsAffected() == 0 {
			err = hub.ErrConflict
		}
		return err
	})
}

// UploadParts implements hub.UploadStore.
func (s *Store) UploadParts(ctx context.Context, id string, from int64, limit int) ([]hub.UploadPart, error) {
	return collect(ctx, s, "list an upload's parts", func(row pgx.CollectableRow) (p hub.UploadPart, err error) {
		err = row.Scan(&p.Start, &p.Size, &p.Key)
		return p, err
	}, selectParts, id, from, limit)
}

// FinishUpload implements hub.UploadStore.
func (s *Store) FinishUpload(ctx context.Context, id string, b hub.Blob) (out hub.Blob, err error) {
	err = s.write(ctx, "finish an upload", func(ctx context.Context) error {
		var (
			batch   pgx.Batch
			kind    hub.UploadKind
			attempt hub.AttemptState
			kept    optionalBlob
		)
		batch.Queue(lockUpload, id)
		batch.Queue(lockUploadAttempt, id)
		batch.Queue(finishUpload, id, b.ID, string(b.Owner), b.Digest, b.Size, b.Key, stamp(b.CreatedAt), stamp(b.KeepUntil)).
			QueryRow(func(r pgx.Row) error {
				return r.Scan(append([]any{(*string)(&kind), (*string)(&attempt)}, kept.dest()...)...)
			})
		err := s.send(ctx, &batch)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return hub.ErrConflict
		case err != nil:
			return err
		case kept.id != nil:
			out = kept.take()
			return nil
		case attempt == "":
			return notFound("attempt")
		}
		return hub.StaleAttempt(attempt)
	})
	return out, err
}

// DropUpload implements hub.UploadStore.
func (s *Store) DropUpload(ctx context.Context, id string) error {
	return s.guarded(ctx, "drop an upload", dropUpload, id)
}

// OldUploads implements hub.UploadStore.
func (s *Store) OldUploads(ctx context.Context, before time.Time, limit int) ([]hub.Upload, error) {
	return collect(ctx, s, "list old uploads", scanUpload, selectOldUploads, before, limit)
}

// DeleteUpload implements hub.UploadStore.
func (s *Store) DeleteUpload(ctx context.Context, id string) error {
	return s.exec(ctx, "forget an upload", deleteUpload, id)
}
