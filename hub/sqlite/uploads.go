package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// CreateUpload implements hub.UploadStore.
func (s *Store) CreateUpload(ctx context.Context, u hub.Upload, c hub.UploadCaps) error {
	return s.write(ctx, "announce an upload", func(t *tx) error {
		if err := t.room(u, c); err != nil {
			return err
		}
		_, err := t.exec(insertUpload, u.ID, string(u.Kind), string(u.Owner), u.CreatedBy, u.TokenDigest, u.Size, u.Digest, u.Received,
			string(u.State), u.BlobID, stamp(u.CreatedAt), stamp(u.ExpiresAt),
			u.JobID, u.Attempt, u.File.Name, u.File.Path, u.File.Executable)
		return err
	})
}

// room refuses an upload over its caps, and an artifact's of an attempt that is not live.
func (t *tx) room(u hub.Upload, c hub.UploadCaps) error {
	var count int
	var size int64
	if u.Kind != hub.UploadArtifact {
		if err := t.row(sumUploads, string(u.Owner), string(u.Kind)).Scan(&count, &size); err != nil {
			return err
		}
		return c.Check(u, "", count, size)
	}
	state, err := t.attemptState(u.JobID, u.Attempt)
	if err != nil {
		return err
	}
	err = t.row(sumArtifacts, sql.Named("job", u.JobID), sql.Named("attempt", u.Attempt), sql.Named("path", u.File.Path)).Scan(&count, &size)
	if err != nil {
		return err
	}
	return c.Check(u, state, count, size)
}

func (t *tx) attemptState(jobID string, number int) (state hub.AttemptState, err error) {
	err = t.row(stateOfAttempt, jobID, number).Scan((*string)(&state))
	return state, missing(err, "attempt")
}

// UploadByToken implements hub.UploadStore.
func (s *Store) UploadByToken(ctx context.Context, digest []byte) (hub.Upload, error) {
	return s.upload(ctx, uploadByToken, orNull(digest))
}

// OpenUpload implements hub.UploadStore.
func (s *Store) OpenUpload(ctx context.Context, u hub.Upload) (hub.Upload, error) {
	return s.upload(ctx, openUpload, string(u.Owner), orNull(u.Digest), string(u.Kind), u.CreatedBy, u.Size,
		u.JobID, u.Attempt, u.File.Name, u.File.Path, u.File.Executable)
}

func (s *Store) upload(ctx context.Context, query string, args ...any) (u hub.Upload, err error) {
	err = s.readRow(ctx, "read an upload", "upload", query, args, func(r rowScanner) (err error) {
		u, err = scanUpload(r)
		return err
	})
	return u, err
}

func scanUpload(r rowScanner) (u hub.Upload, err error) {
	err = r.Scan(&u.ID, &u.Kind, &u.Owner, &u.CreatedBy, &u.TokenDigest, &u.Size, &u.Digest, &u.Received, &u.State, &u.BlobID,
		at(&u.CreatedAt), at(&u.ExpiresAt), &u.JobID, &u.Attempt, &u.File.Name, &u.File.Path, &u.File.Executable)
	return u, err
}

// GrowUpload implements hub.UploadStore.
func (s *Store) GrowUpload(ctx context.Context, id string, p hub.UploadPart) error {
	return s.write(ctx, "add to an upload", func(t *tx) error {
		if err := t.one(growUpload, p.Size, id, p.Start); err != nil {
			return err
		}
		_, err := t.exec(insertPart, id, p.Start, p.Size, p.Key)
		return err
	})
}

// UploadParts implements hub.UploadStore.
func (s *Store) UploadParts(ctx context.Context, id string, from int64, limit int) ([]hub.UploadPart, error) {
	return readAll(ctx, s, "read an upload's parts", listParts, []any{id, from, limit}, func(r rowScanner) (p hub.UploadPart, err error) {
		err = r.Scan(&p.Start, &p.Size, &p.Key)
		return p, err
	})
}

// FinishUpload implements hub.UploadStore.
func (s *Store) FinishUpload(ctx context.Context, id string, b hub.Blob) (out hub.Blob, err error) {
	err = s.write(ctx, "finish an upload", func(t *tx) error {
		u, err := scanUpload(t.row(uploadByID, id))
		if errors.Is(err, sql.ErrNoRows) || err == nil && u.State != hub.UploadOpen {
			return hub.ErrConflict
		}
		if err != nil {
			return err
		}
		if u.Kind == hub.UploadArtifact {
			state, err := t.attemptState(u.JobID, u.Attempt)
			if err != nil {
				return err
			}
			if !state.Live() {
				return hub.StaleAttempt(state)
			}
		}
		if out, err = t.blob(b); err != nil {
			return err
		}
		if err := t.one(endUpload, string(hub.UploadDone), out.ID, id); err != nil || u.Kind != hub.UploadArtifact {
			return err
		}
		return t.artifact(hub.Artifact{
			JobID: u.JobID, Attempt: u.Attempt, ArtifactFile: u.File, Size: b.Size, Digest: b.Digest, BlobID: out.ID,
			CreatedAt: b.CreatedAt, ExpiresAt: b.KeepUntil,
		})
	})
	return out, err
}

// blob stores a blob, or keeps the one with the same bytes that there is.
func (t *tx) blob(b hub.Blob) (hub.Blob, error) {
	old, err := scanBlob(t.row(findBlob, string(b.Owner), b.Digest))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		_, err = t.exec(insertBlob, b.ID, string(b.Owner), b.Digest, b.Size, b.Key, stamp(b.CreatedAt), stamp(b.KeepUntil))
		b.CreatedAt, b.KeepUntil = stored(b.CreatedAt), stored(b.KeepUntil)
		return b, err
	case err != nil:
		return hub.Blob{}, err
	}
	if err := t.one(keepBlob, stamp(b.KeepUntil), old.ID); err != nil {
		return hub.Blob{}, err
	}
	if until := stored(b.KeepUntil); until.After(old.KeepUntil) {
		old.KeepUntil = until
	}
	return old, nil
}

// DropUpload implements hub.UploadStore.
func (s *Store) DropUpload(ctx context.Context, id string) error {
	return s.write(ctx, "drop an upload", func(t *tx) error { return t.one(endUpload, string(hub.UploadDropped), "", id) })
}

// OldUploads implements hub.UploadStore.
func (s *Store) OldUploads(ctx context.Context, before time.Time, limit int) ([]hub.Upload, error) {
	return readAll(ctx, s, "list old uploads", oldUploads, []any{stamp(before), limit}, scanUpload)
}

// DeleteUpload implements hub.UploadStore.
func (s *Store) DeleteUpload(ctx context.Context, id string) error {
	return s.write(ctx, "forget an upload", func(t *tx) error {
		_, err := t.exec(deleteUpload, id)
		return err
	})
}
