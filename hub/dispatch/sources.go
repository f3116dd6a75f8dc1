package dispatch

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/pairing"
	"github.com/runnerhub/runnerhub/topology"
)

// SourceRequest announces an archive that jobs are to start from.
type SourceRequest struct {
	Target    string // as in JobRequest: together they say whose the job will be
	Workspace string
	Size      int64
	Digest    []byte // SHA-256
}

// AnnounceSource begins the upload of a source archive, or finds that the workspace of such a job has it. Errors:
// those of Announce, and NotFound for the target and the workspace.
func (s *Service) AnnounceSource(ctx context.Context, p hub.Principal, r SourceRequest) (UploadTicket, error) {
	c, err := s.person(ctx, p)
	if err != nil {
		return UploadTicket{}, err
	}
	to, err := s.place(ctx, c, r.Target, r.Workspace)
	if err != nil {
		return UploadTicket{}, err
	}
	return s.Announce(ctx, p, UploadRequest{Kind: hub.UploadSource, Owner: hub.WorkspaceOwner(to.tenant.ID), Size: r.Size, Digest: r.Digest})
}

// archiveOf is the digest of the archive that a stored spec starts from, nil when it starts from none.
func archiveOf(spec []byte) []byte {
	const prefix = "sha256:"
	if !bytes.Contains(spec, []byte(`"archive":"`+prefix)) { // most have none, and are not read
		return nil
	}
	var found struct {
		Source struct{ Archive string }
	}
	if json.Unmarshal(spec, &found) != nil {
		return nil
	}
	digest, _ := hex.DecodeString(strings.TrimPrefix(found.Source.Archive, prefix))
	if len(digest) == 0 {
		return nil
	}
	return digest
}

// keepArchive puts off the end of the archive that a job starts from. An archive that the job's workspace does not
// have is a problem of the spec's; the error is that nobody can tell.
func (s *Service) keepArchive(ctx context.Context, workspaceID string, spec []byte) (*SpecProblem, error) {
	digest := archiveOf(spec)
	if digest == nil {
		return nil, nil
	}
	b, err := s.findBlob(ctx, hub.WorkspaceOwner(workspaceID), digest)
	if err == nil {
		err = s.store.KeepBlob(ctx, b.ID, s.clock.now().Add(s.policy.ArtifactRetention))
	}
	if hub.CodeOf(err) == hub.NotFound {
		return &SpecProblem{
			Field: "source.archive", Code: topology.ProblemInvalid, Message: "the workspace has no archive sha256:" + hex.EncodeToString(digest),
			Hint: "upload it first, as `runnerctl submit --source` does; one that no job has used for a while is deleted",
		}, nil
	}
	return nil, err
}

// withArchive refuses a job whose archive is not there.
func (s *Service) withArchive(ctx context.Context, workspaceID string, spec []byte) error {
	problem, err := s.keepArchive(ctx, workspaceID, spec)
	if err != nil || problem == nil {
		return err
	}
	return badSpec([]SpecProblem{*problem})
}

// sourceToken derives the ticket for the source of an attempt. It needs no row: what it is derived from is stored for
// as long as the lease lives, changes with each lease, and is known to nobody but the runner.
func sourceToken(leaseDigest []byte, jobID string, attempt int) string {
	return pairing.Derive(pairing.Capability, leaseDigest, "source", jobID, strconv.Itoa(attempt))
}

// OpenSource opens the archive that a job starts from, for the one who has the ticket of its live attempt, once. Errors:
// NotFound for any other ticket, Conflict for one that was used.
func (s *Service) OpenSource(ctx context.Context, jobID string, attempt int, token string) (hub.SourceArchive, error) {
	j, err := s.store.GetJob(ctx, jobID)
	if err != nil {
		return hub.SourceArchive{}, err
	}
	want := sourceToken(j.LeaseDigest, j.ID, j.Attempt)
	if !j.State.Live() || j.Attempt != attempt || subtle.ConstantTimeCompare([]byte(token), []byte(want)) != 1 {
		return hub.SourceArchive{}, hub.Errorf(hub.NotFound, "no such ticket").WithHint("a ticket is for one download by the attempt that was leased; a new attempt gets a new one")
	}
	payload, err := s.store.GetPayload(ctx, jobID)
	if err != nil {
		return hub.SourceArchive{}, err
	}
	b, err := s.store.FindBlob(ctx, hub.WorkspaceOwner(j.WorkspaceID), archiveOf(payload.Spec))
	if err != nil {
		return hub.SourceArchive{}, err
	}
	err = s.store.TakeSource(ctx, jobID, attempt, s.clock.now())
	if errors.Is(err, hub.ErrConflict) {
		return hub.SourceArchive{}, hub.Errorf(hub.Conflict, "this ticket was used").WithHint("a ticket works once; the job's next attempt gets another one")
	}
	if err != nil {
		return hub.SourceArchive{}, err
	}
	arrived := func(whole bool) {
		if whole {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
		defer cancel()
		if err := s.store.ReturnSource(ctx, jobID, attempt); err != nil {
			s.log.Warn("a source did not arrive and its ticket is spent", "job", jobID, "attempt", attempt, "error", err)
		}
	}
	r, err := s.bucket.Open(ctx, b.Key, 0, -1)
	if err != nil {
		arrived(false)
		return hub.SourceArchive{}, unavailable("the source could not be read", err)
	}
	return hub.SourceArchive{ReadCloser: r, Size: b.Size, Arrived: arrived}, nil
}
