package dispatch

import (
	"context"
	"crypto/rand"
	_ "embed"
	"strconv"
	"strings"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// Files of a job are read and written by a script that its runner runs in the container like any other command: only there can
// it be known where links lead, a file be replaced as a whole and by the job's own user, a folder be listed without its content
// and a part be read of a file of any size.
var (
	//go:embed fileroot.sh
	rootScript string
	//go:embed fileread.sh
	readBelow string
	//go:embed filewrite.sh
	writeBelow string

	readScript, writeScript = rootScript + readBelow, rootScript + writeBelow
)

// ReadFile reads a part of a file of a job, or lists a folder. Errors: those of StartExec; NotFound for what is not there,
// InvalidArgument for a path that leaves the working directory, Unavailable when the runner does not answer.
func (s *Service) ReadFile(ctx context.Context, p hub.Principal, r ReadFileRequest) (FilePage, error) {
	if r.Max == 0 {
		r.Max = MaxFilePage
	}
	if r.Offset < 0 || r.Max < 0 || r.Max > MaxFilePage {
		return FilePage{}, hub.Errorf(hub.InvalidArgument, "offset is at least 0, and max_bytes 1 to %d", MaxFilePage)
	}
	at, err := s.findFile(ctx, p, r.FileRequest)
	if err != nil {
		return FilePage{}, err
	}
	options := []string{strconv.FormatInt(r.Offset, 10), strconv.FormatInt(r.Max, 10), strconv.Itoa(maxFileEntries)}
	out, err := s.atFile(ctx, p, at, "read "+r.Path, at.command(readScript, options), nil)
	if err != nil {
		return FilePage{}, err
	}
	return filePage(out.Stdout, out.Stderr, r)
}

// WriteFile makes or replaces a file of a job, and the folders that it is in. Whoever reads it meanwhile has the old file or the
// new one. created says that there was none. Errors: as ReadFile's, TooLarge.
func (s *Service) WriteFile(ctx context.Context, p hub.Principal, r WriteFileRequest) (created bool, err error) {
	if len(r.Content) > MaxFileBytes {
		return false, hub.Errorf(hub.TooLarge, "the content has %d bytes and may have %d", len(r.Content), MaxFileBytes).
			WithHint("copy it into the job: runnerctl cp")
	}
	if mode, err := strconv.ParseUint(r.Mode, 8, 32); r.Mode != "" && (err != nil || mode > 0o777) {
		return false, hub.Errorf(hub.InvalidArgument, "mode %q is no permissions in octal", clip(r.Mode, 20)).WithHint("send 0644, or 0755 for a program")
	}
	at, err := s.findFile(ctx, p, r.FileRequest)
	if err != nil {
		return false, err
	}
	if len(at.elements) == 0 || strings.HasSuffix(r.Path, "/") {
		return false, hub.Errorf(hub.InvalidArgument, "%q is a folder", clip(r.Path, 80)).WithHint("name the file in it")
	}
	options := []string{strconv.Itoa(len(r.Content)), r.Mode, rand.Text()}
	out, err := s.atFile(ctx, p, at, "write "+r.Path, at.command(writeScript, options), r.Content)
	return string(out.Stdout) == "new\n", err
}

// atFile runs one of the scripts and waits for its end. What is asked for is told in the job's timeline as reason.
func (s *Service) atFile(ctx context.Context, p hub.Principal, at filePlace, reason string, command []string, input []byte) (ExecPage, error) {
	x := hub.Exec{
		Kind: hub.ExecRun, Timeout: fileWait + fileLate, Limit: MaxExecPage, Input: int64(len(input)), InputTotal: int64(len(input)),
		Order: hub.ExecOrder{Service: at.Service, Command: command, Path: at.Path},
	}
	x, err := s.park(ctx, p, at.JobID, x, input, reason)
	if err != nil {
		return ExecPage{}, err
	}
	out, err := s.awaitExec(ctx, WaitExecRequest{JobID: x.JobID, ExecID: x.ID, Wait: fileWait, MaxBytes: MaxExecPage}, x, true)
	if err != nil {
		return ExecPage{}, err
	}
	if !out.Exec.Open() {
		return out, at.refusal(out)
	}
	e := hub.Errorf(hub.Unavailable, "the job's runner has not answered within %s", fileWait).
		WithHint("call again: to write a file twice is to write it once. explain_job says how the job is")
	e.Retryable, e.RetryAfter = true, time.Second
	_, e.Err = s.StopExec(context.WithoutCancel(ctx), p, x.JobID, x.ID) // nobody waits for it any more
	return ExecPage{}, e
}
