package memory

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// upload is one with its parts, in order.
type upload struct {
	hub.Upload
	parts []hub.UploadPart
}

// blob is one, and whether it is about to go.
type blob struct {
	hub.Blob
	condemned bool
}

func copyUpload(u hub.Upload) hub.Upload {
	u.TokenDigest, u.Digest = bytes.Clone(u.TokenDigest), bytes.Clone(u.Digest)
	u.CreatedAt, u.ExpiresAt = stored(u.CreatedAt), stored(u.ExpiresAt)
	return u
}

func copyBlob(b hub.Blob) hub.Blob {
	b.Digest, b.CreatedAt, b.KeepUntil = bytes.Clone(b.Digest), stored(b.CreatedAt), stored(b.KeepUntil)
	return b
}

func copyArtifact(a hub.Artifact) hub.Artifact {
	a.Digest, a.CreatedAt, a.ExpiresAt = bytes.Clone(a.Digest), stored(a.CreatedAt), stored(a.ExpiresAt)
	return a
}

// CreateUpload implements hub.UploadStore.
func (s *Store) CreateUpload(ctx context.Context, u hub.Upload, c hub.UploadCaps) error {
	return s.write(ctx, func() error {
		if err := s.room(u, c); err != nil {
			return err
		}
		for id, other := range s.uploads {
			if id == u.ID || bytes.Equal(other.TokenDigest, u.TokenDigest) {
				return taken()
			}
		}
		s.uploads[u.ID] = &upload{Upload: copyUpload(u)}
		return nil
	})
}

// room refuses an upload over its caps, and an artifact's of an attempt that is not live.
func (s *Store) room(u hub.Upload, c hub.UploadCaps) error {
	var count int
	var size int64
	if u.Kind != hub.UploadArtifact {
		for _, o := range s.uploads {
			if o.State == hub.UploadOpen && o.Kind == u.Kind && o.Owner == u.Owner {
				count, size = count+1, size+o.Size
			}
		}
		return c.Check(u, "", count, size)
	}
	a := s.attempt(u.JobID, u.Attempt)
	if a == nil {
		return missing("attempt")
	}
	for path, file := range a.files {
		if path != u.File.Path {
			count, size = count+1, size+file.Size
		}
	}
	for _, o := range s.uploads {
		if o.State == hub.UploadOpen && o.JobID == u.JobID && o.Attempt == u.Attempt && o.File.Path != u.File.Path {
			count, size = count+1, size+o.Size
		}
	}
	return c.Check(u, a.State, count, size)
}

// UploadByToken implements hub.UploadStore.
func (s *Store) UploadByToken(ctx context.Context, digest []byte) (hub.Upload, error) {
	return s.findUpload(ctx, func(u hub.Upload) bool { return bytes.Equal(u.TokenDigest, digest) })
}

// OpenUpload implements hub.UploadStore.
func (s *Store) OpenUpload(ctx context.Context, like hub.Upload) (hub.Upload, error) {
	return s.findUpload(ctx, func(u hub.Upload) bool {
		return u.State == hub.UploadOpen && u.Owner == like.Owner && u.Kind == like.Kind && u.CreatedBy == like.CreatedBy &&
			u.Size == like.Size && bytes.Equal(u.Digest, like.Digest) && u.JobID == like.JobID && u.Attempt == like.Attempt && u.File == like.File
	})
}

// findUpload finds the newest one that is wanted.
func (s *Store) findUpload(ctx context.Context, wanted func(hub.Upload) bool) (out hub.Upload, err error) {
	err = s.read(ctx, func() error {
		for _, u := range s.uploads {
			if u.ID > out.ID && wanted(u.Upload) {
				out = copyUpload(u.Upload)
			}
		}
		if out.ID == "" {
			return missing("upload")
		}
		return nil
	})
	return out, err
}

// GrowUpload implements hub.UploadStore.
func (s *Store) GrowUpload(ctx context.Context, id string, p hub.UploadPart) error {
	return s.write(ctx, func() error {
		u := s.uploads[id]
		if u == nil || u.State != hub.UploadOpen || u.Received != p.Start {
			return hub.ErrConflict
		}
		u.Received += p.Size
		u.parts = append(u.parts, p)
		return nil
	})
}

// UploadParts implements hub.UploadStore.
func (s *Store) UploadParts(ctx context.Context, id string, from int64, limit int) (out []hub.UploadPart, err error) {
	err = s.read(ctx, func() error {
		if u := s.uploads[id]; u != nil {
			for _, p := range u.parts {
				if p.Start >= from && len(out) < limit {
					out = append(out, p)
				}
			}
		}
		return nil
	})
	return out, err
}

// FinishUpload implements hub.UploadStore.
func (s *Store) FinishUpload(ctx context.Context, id string, b hub.Blob) (out hub.Blob, err error) {
	err = s.write(ctx, func() error {
		u := s.uploads[id]
		if u == nil || u.State != hub.UploadOpen {
			return hub.ErrConflict
		}
		a := s.attempt(u.JobID, u.Attempt)
		switch {
		case u.Kind != hub.UploadArtifact:
		case a == nil:
			return missing("attempt")
		case !a.State.Live():
			return hub.StaleAttempt(a.State)
		}
		kept := s.living(b.Owner, b.Digest)
		if kept == nil {
			kept = &blob{Blob: copyBlob(b)}
			s.blobs[b.ID] = kept
		}
		kept.prolong(b.KeepUntil)
		u.State, u.BlobID = hub.UploadDone, kept.ID
		if u.Kind == hub.UploadArtifact {
			a.put(hub.Artifact{
				JobID: u.JobID, Attempt: u.Attempt, ArtifactFile: u.File, Size: b.Size, Digest: b.Digest, BlobID: kept.ID, Key: kept.Key,
				CreatedAt: b.CreatedAt, ExpiresAt: b.KeepUntil,
			})
		}
		out = copyBlob(kept.Blob)
		return nil
	})
	return out, err
}

func (b *blob) prolong(until time.Time) {
	if until = stored(until); until.After(b.KeepUntil) {
		b.KeepUntil = until
	}
}

func (a *attempt) put(file hub.Artifact) {
	if a.files == nil {
		a.files = map[string]hub.Artifact{}
	}
	a.files[file.Path] = copyArtifact(file)
}

// DropUpload implements hub.UploadStore.
func (s *Store) DropUpload(ctx context.Context, id string) error {
	return s.write(ctx, func() error {
		u := s.uploads[id]
		if u == nil || u.State != hub.UploadOpen {
			return hub.ErrConflict
		}
		u.State = hub.UploadDropped
		return nil
	})
}

// OldUploads implements hub.UploadStore.
func (s *Store) OldUploads(ctx context.Context, before time.Time, limit int) (out []hub.Upload, err error) {
	err = s.read(ctx, func() error {
		for _, u := range s.uploads {
			if u.ExpiresAt.Before(before) {
				out = append(out, copyUpload(u.Upload))
			}
		}
		slices.SortFunc(out, func(a, b hub.Upload) int { return a.ExpiresAt.Compare(b.ExpiresAt) })
		out = out[:min(limit, len(out))]
		return nil
	})
	return out, err
}

// DeleteUpload implements hub.UploadStore.
func (s *Store) DeleteUpload(ctx context.Context, id string) error {
	return s.write(ctx, func() error {
		delete(s.uploads, id)
		return nil
	})
}

// living finds an owner's blob that is not about to go, or nil.
func (s *Store) living(o hub.Owner, digest []byte) *blob {
	for _, b := range s.blobs {
		if !b.condemned && b.Owner == o && bytes.Equal(b.Digest, digest) {
			return b
		}
	}
	return nil
}

// FindBlob implements hub.UploadStore.
func (s *Store) FindBlob(ctx context.Context, o hub.Owner, digest []byte) (out hub.Blob, err error) {
	err = s.read(ctx, func() error {
		b := s.living(o, digest)
		if b == nil {
			return missing("blob")
		}
		out = copyBlob(b.Blob)
		return nil
	})
	return out, err
}

// KeepBlob implements hub.UploadStore.
func (s *Store) KeepBlob(ctx context.Context, id string, until time.Time) error {
	return s.write(ctx, func() error { return s.keepBlob(id, until) })
}

func (s *Store) keepBlob(id string, until time.Time) error {
	b := s.blobs[id]
	if b == nil || b.condemned {
		return missing("blob")
	}
	b.prolong(until)
	return nil
}

// CondemnBlobs implements hub.UploadStore.
func (s *Store) CondemnBlobs(ctx context.Context, before time.Time, limit int) (out []hub.Blob, err error) {
	err = s.write(ctx, func() error {
		old := slices.SortedFunc(maps.Values(s.blobs), func(a, b *blob) int { return a.KeepUntil.Compare(b.KeepUntil) })
		for _, b := range old {
			if b.KeepUntil.Before(before) && len(out) < limit {
				b.condemned = true
				out = append(out, copyBlob(b.Blob))
			}
		}
		return nil
	})
	return out, err
}

// CondemnBlob implements hub.UploadStore.
func (s *Store) CondemnBlob(ctx context.Context, id string) error {
	return s.write(ctx, func() error {
		if b := s.blobs[id]; b != nil {
			b.condemned = true
		}
		return nil
	})
}

// DeleteBlob implements hub.UploadStore.
func (s *Store) DeleteBlob(ctx context.Context, id string) error {
	return s.write(ctx, func() error {
		if b := s.blobs[id]; b != nil && b.condemned {
			delete(s.blobs, id)
		}
		return nil
	})
}

// PutArtifact implements hub.UploadStore.
func (s *Store) PutArtifact(ctx context.Context, a hub.Artifact, c hub.UploadCaps) error {
	return s.write(ctx, func() error {
		u := hub.Upload{Kind: hub.UploadArtifact, JobID: a.JobID, Attempt: a.Attempt, File: a.ArtifactFile, Size: a.Size}
		if err := s.room(u, c); err != nil {
			return err
		}
		if err := s.keepBlob(a.BlobID, a.ExpiresAt); err != nil {
			return err
		}
		a.Key = s.blobs[a.BlobID].Key
		s.attempt(a.JobID, a.Attempt).put(a)
		return nil
	})
}

// ListArtifacts implements hub.UploadStore.
func (s *Store) ListArtifacts(ctx context.Context, jobID string, number int, afterPath string, limit int) (out []hub.Artifact, err error) {
	err = s.read(ctx, func() error {
		a := s.attempt(jobID, number)
		if a == nil {
			return nil
		}
		for path, file := range a.files {
			if path > afterPath && s.blobs[file.BlobID] != nil {
				out = append(out, copyArtifact(file))
			}
		}
		slices.SortFunc(out, func(a, b hub.Artifact) int { return cmp.Compare(a.Path, b.Path) })
		out = out[:min(limit, len(out))]
		return nil
	})
	return out, err
}

// GetArtifact implements hub.UploadStore.
func (s *Store) GetArtifact(ctx context.Context, jobID string, number int, path string) (out hub.Artifact, err error) {
	err = s.read(ctx, func() error {
		if a := s.attempt(jobID, number); a != nil {
			if file, ok := a.files[path]; ok && s.blobs[file.BlobID] != nil {
				out = copyArtifact(file)
				return nil
			}
		}
		return missing("artifact")
	})
	return out, err
}

// DeleteArtifacts implements hub.UploadStore.
func (s *Store) DeleteArtifacts(ctx context.Context, before time.Time, limit int) (n int, err error) {
	err = s.write(ctx, func() error {
		for _, r := range s.jobs {
			for _, a := range r.attempts {
				maps.DeleteFunc(a.files, func(_ string, f hub.Artifact) bool {
					if n >= limit || !f.ExpiresAt.Before(before) {
						return false
					}
					n++
					return true
				})
			}
		}
		return nil
	})
	return n, err
}
