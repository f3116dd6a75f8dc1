package dispatch

import (
	"context"
	"crypto/sha256"

	"github.com/google/uuid"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/pairing"
)

// Announce begins an upload, goes on with one that was cut short, or finds that the owner has the bytes: then an
// artifact is made at once, and whatever else uses the blob must keep it. The same announcement again by the same caller
// gets the same capability. Errors: InvalidArgument, TooLarge, QuotaExceeded, StaleLease.
func (s *Service) Announce(ctx context.Context, p hub.Principal, r UploadRequest) (UploadTicket, error) {
	caps, err := s.checkUpload(r)
	if err != nil {
		return UploadTicket{}, err
	}
	b, err := s.known(ctx, r, caps)
	if err != nil {
		return UploadTicket{}, err
	}
	if b != nil {
		return UploadTicket{Blob: b, NextOffset: r.Size}, nil
	}
	now := s.clock.now()
	u := hub.Upload{
		ID: hub.UploadIDPrefix + uuid.Must(uuid.NewV7()).String(), Kind: r.Kind, Owner: r.Owner, CreatedBy: p.Actor(),
		Size: r.Size, Digest: r.Digest, State: hub.UploadOpen, CreatedAt: now, ExpiresAt: now.Add(s.policy.UploadTTL),
		JobID: r.JobID, Attempt: r.Attempt, File: r.File,
	}
	old, err := s.store.OpenUpload(ctx, u)
	switch token := uploadToken(p, old.ID); {
	case err == nil && string(hub.Digest(token)) == string(old.TokenDigest) && old.ExpiresAt.Sub(now) > s.policy.UploadTTL/2:
		return UploadTicket{Token: token, NextOffset: old.Received, Expires: old.ExpiresAt.Sub(now)}, nil
	case err != nil && hub.CodeOf(err) != hub.NotFound:
		return UploadTicket{}, err
	}
	token := uploadToken(p, u.ID)
	u.TokenDigest = hub.Digest(token)
	if err := s.store.CreateUpload(ctx, u, caps); err != nil {
		return UploadTicket{}, err
	}
	return UploadTicket{Token: token, Expires: s.policy.UploadTTL}, nil
}

// uploadToken derives the capability of an upload, so that it can be told again though only its digest is stored.
func uploadToken(p hub.Principal, id string) string {
	return pairing.Derive(pairing.Capability, p.Secret, "upload", id)
}

// checkUpload checks an announcement, and says what bounds it beside others.
func (s *Service) checkUpload(r UploadRequest) (hub.UploadCaps, error) {
	most, name := s.policy.MaxSourceBytes, "max_source_bytes"
	caps := hub.UploadCaps{Count: s.policy.MaxUploads}
	if r.Kind == hub.UploadArtifact {
		most, name = s.policy.MaxArtifactBytes, hub.CapArtifactBytes
		caps = hub.UploadCaps{Count: s.policy.MaxArtifacts, Bytes: s.policy.MaxArtifactBytes}
	}
	switch {
	case len(r.Digest) != sha256.Size:
		return caps, hub.Errorf(hub.InvalidArgument, "sha256 has %d bytes and must have %d", len(r.Digest), sha256.Size).
			WithHint("send the 64 hexadecimal digits that sha256sum prints")
	case r.Size < 0:
		return caps, hub.Errorf(hub.InvalidArgument, "size %d is negative", r.Size).WithHint("send how many bytes there are")
	case r.Size > most:
		return caps, hub.Errorf(hub.TooLarge, "these are %d bytes and may be %d", r.Size, most).
			WithHint("send less; the hub's operator sets the limit").WithDetail("cap", name).WithDetail("limit", most)
	}
	return caps, nil
}

// findBlob finds an owner's blob that has its bytes. One that has lost some of them, as a folder that was restored or a
// disk that failed may have it, is condemned: it is NotFound from then on, and the bytes can be sent again.
func (s *Service) findBlob(ctx context.Context, o hub.Owner, digest []byte) (hub.Blob, error) {
	b, err := s.store.FindBlob(ctx, o, digest)
	if err != nil {
		return b, err
	}
	size, err := s.bucket.Size(ctx, b.Key)
	switch {
	case err == nil && size == b.Size:
		return b, nil
	case err != nil && hub.CodeOf(err) != hub.NotFound:
		return b, unavailable("the bytes could not be looked at", err)
	}
	s.log.Warn("bytes are missing in the bucket; they are forgotten, and asked for again", "key", b.Key, "size", b.Size, "found", size)
	if err := s.store.CondemnBlob(ctx, b.ID); err != nil {
		return b, err
	}
	return b, hub.Errorf(hub.NotFound, "no such blob")
}

// known finds the bytes among the owner's and makes the artifact of them; nil when they have to be sent.
func (s *Service) known(ctx context.Context, r UploadRequest, c hub.UploadCaps) (*hub.Blob, error) {
	b, err := s.findBlob(ctx, r.Owner, r.Digest)
	if err == nil && b.Size != r.Size {
		return nil, hub.Errorf(hub.InvalidArgument, "the bytes with this sha256 have another size than %d", r.Size).
			WithHint("take size and sha256 of the same bytes; the file may have changed in between")
	}
	if err == nil && r.Kind == hub.UploadArtifact {
		now := s.clock.now()
		err = s.store.PutArtifact(ctx, hub.Artifact{
			JobID: r.JobID, Attempt: r.Attempt, ArtifactFile: r.File, Size: r.Size, Digest: r.Digest, BlobID: b.ID,
			CreatedAt: now, ExpiresAt: now.Add(s.policy.ArtifactRetention),
		}, c)
	} else if err == nil {
		err = s.store.KeepBlob(ctx, b.ID, s.clock.now().Add(s.policy.ArtifactRetention))
	}
	switch {
	case hub.CodeOf(err) == hub.NotFound: // or it goes just now
		if r.Kind == hub.UploadArtifact {
			if _, err := s.store.GetAttempt(ctx, r.JobID, r.Attempt); err != nil {
				return nil, err
			}
		}
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &b, nil
}
