package dispatch

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/runnerhub/runnerhub/hub"
)

// Limits on what an artifact is called, in bytes.
const (
	maxArtifactName = 512
	maxArtifactPath = 1024
)

// ArtifactRequest announces a file that an attempt left.
type ArtifactRequest struct {
	JobID  string
	Proof  hub.Proof
	File   hub.ArtifactFile
	Size   int64
	Digest []byte
}

// UploadArtifact announces a file of the attempt that the runner p holds. Errors: those of Announce, and NotFound.
func (s *Service) UploadArtifact(ctx context.Context, p hub.Principal, r ArtifactRequest) (UploadTicket, error) {
	if err := s.machine(p); err != nil {
		return UploadTicket{}, err
	}
	if err := checkFile(r.File); err != nil {
		return UploadTicket{}, err
	}
	if !printable(r.JobID) {
		return UploadTicket{}, noJob(r.JobID)
	}
	s.presence.beat(p.Runner, s.clock.now())
	j, err := s.store.GetJob(ctx, r.JobID)
	if hub.CodeOf(err) == hub.NotFound {
		return UploadTicket{}, noJob(r.JobID)
	}
	if err == nil {
		err = holds(p.Runner, j)
	}
	if err == nil {
		err = j.Fence(r.Proof)
	}
	if err != nil {
		return UploadTicket{}, err
	}
	return s.Announce(ctx, p, UploadRequest{
		Kind: hub.UploadArtifact, Owner: j.Owner, Size: r.Size, Digest: r.Digest, JobID: j.ID, Attempt: r.Proof.Attempt, File: r.File,
	})
}

// checkFile refuses names that could not be stored everywhere or that lead somewhere else when the file is downloaded.
func checkFile(f hub.ArtifactFile) error {
	odd := func(s string) bool {
		return !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl)
	}
	switch {
	case f.Name == "" || len(f.Name) > maxArtifactName || odd(f.Name):
		return hub.Errorf(hub.InvalidArgument, "the artifact's name needs 1 to %d bytes of printable text", maxArtifactName).
			WithHint("the name is for people; say where the file lies in path")
	case f.Path == "" || len(f.Path) > maxArtifactPath || odd(f.Path) || strings.Contains(f.Path, `\`):
		return hub.Errorf(hub.InvalidArgument, "the artifact's path needs 1 to %d bytes of printable text without backslashes", maxArtifactPath).
			WithHint("name it from the working directory on, with slashes: out/report.xml")
	case path.IsAbs(f.Path) || path.Clean(f.Path) != f.Path || f.Path == "." || f.Path == ".." || strings.HasPrefix(f.Path, "../"):
		return hub.Errorf(hub.InvalidArgument, "%q is no path below the job's working directory", clip(f.Path, 80)).
			WithHint("name it from the working directory on, without leading slash and ..: out/report.xml")
	}
	return nil
}

// ArtifactsRequest asks for what an attempt left.
type ArtifactsRequest struct {
	JobID   string
	Attempt int // 0: the latest
	Cursor  string
	Limit   int // 1 to 100, 0 is 20
}

// ArtifactsPage is one page of what an attempt left.
type ArtifactsPage struct {
	JobID      string
	Attempt    int
	Artifacts  []hub.Artifact
	NextCursor string
	Note       string
}

// ListArtifacts pages what an attempt left, by path. Errors: NotFound, InvalidArgument.
func (s *Service) ListArtifacts(ctx context.Context, p hub.Principal, r ArtifactsRequest) (ArtifactsPage, error) {
	j, n, err := s.attemptOf(ctx, p, r.JobID, r.Attempt)
	if err != nil {
		return ArtifactsPage{}, err
	}
	out := ArtifactsPage{JobID: j.ID, Attempt: n}
	if n == 0 {
		out.Note = "The job was never handed to a runner. explain_job says why."
		return out, nil
	}
	after, ok := pageAfter(r.Cursor, j.ID, n)
	if !ok {
		return out, hub.Errorf(hub.InvalidArgument, "the cursor is none of list_artifacts for this job's attempt %d", n).WithHint("send next_cursor of the answer before, or none for the first page")
	}
	limit := r.Limit
	if limit == 0 {
		limit = 20
	}
	if limit < 1 || limit > 100 {
		return out, hub.Errorf(hub.InvalidArgument, "limit %d is not between 1 and 100", r.Limit)
	}
	out.Artifacts, err = s.store.ListArtifacts(ctx, j.ID, n, after, limit+1)
	if err != nil {
		return out, err
	}
	if len(out.Artifacts) > limit {
		out.Artifacts = out.Artifacts[:limit]
		out.NextCursor = pageCursor(j.ID, n, out.Artifacts[limit-1].Path)
	}
	if len(out.Artifacts) == 0 && r.Cursor == "" {
		out.Note, err = s.nothingKept(ctx, j, n)
	}
	return out, err
}

// pageCursor is where the next page of an attempt's files begins: behind a path.
func pageCursor(jobID string, attempt int, path string) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "a.%s.%d.%s", tagOf(jobID), attempt, path))
}

// pageAfter is the path that a cursor stands behind; not ok for one of another job or attempt.
func pageAfter(cursor, jobID string, attempt int) (path string, ok bool) {
	if cursor == "" {
		return "", true
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	path, ok = strings.CutPrefix(string(raw), fmt.Sprintf("a.%s.%d.", tagOf(jobID), attempt))
	return path, err == nil && ok && path != "" && utf8.ValidString(path) && !strings.ContainsRune(path, 0)
}

// attemptOf finds a job that the caller may see, and the number of the attempt that is meant.
func (s *Service) attemptOf(ctx context.Context, p hub.Principal, jobID string, n int) (hub.Job, int, error) {
	j, _, err := s.job(ctx, p, jobID)
	if err != nil {
		return j, 0, err
	}
	if n == 0 {
		n = j.Attempt
	}
	if n < 0 || n > j.Attempt {
		return j, 0, hub.Errorf(hub.InvalidArgument, "attempt %d does not exist", n).WithHint("the latest is %d", j.Attempt)
	}
	return j, n, nil
}

// Artifact finds one file that an attempt left; attempt 0 is the latest. Errors: NotFound, InvalidArgument.
func (s *Service) Artifact(ctx context.Context, p hub.Principal, jobID string, attempt int, file string) (hub.Artifact, error) {
	j, n, err := s.attemptOf(ctx, p, jobID, attempt)
	if err != nil {
		return hub.Artifact{}, err
	}
	missing := hub.Errorf(hub.NotFound, "attempt %d has no artifact %q", n, clip(file, 80)).
		WithHint("list_artifacts names what there is; artifacts are kept for %s", span(s.policy.ArtifactRetention))
	if checkFile(hub.ArtifactFile{Name: "any", Path: file}) != nil {
		return hub.Artifact{}, missing
	}
	a, err := s.store.GetArtifact(ctx, j.ID, n, file)
	if hub.CodeOf(err) == hub.NotFound {
		return a, missing.WithHint("%s%s", s.unknownFile(ctx, j.ID, n, file), missing.Hint)
	}
	return a, err
}

// OpenArtifact reads the bytes of a file, from an offset on, length of them or with -1 to the end. The caller closes it.
func (s *Service) OpenArtifact(ctx context.Context, a hub.Artifact, offset, length int64) (io.ReadCloser, error) {
	r, err := s.bucket.Open(ctx, a.Key, offset, length)
	if hub.CodeOf(err) == hub.NotFound {
		return nil, hub.Errorf(hub.NotFound, "the artifact has expired").WithHint("run the job again: retry_job")
	}
	if err != nil {
		return nil, unavailable("the artifact's bytes could not be read", err)
	}
	return r, nil
}
