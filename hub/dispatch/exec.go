package dispatch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/runnerhub/runnerhub/hub"
)

// StartExec has a command run in a container of a job that is held or allows it, by whoever may cancel the job. It is run at
// most once, whatever fails. Errors: NotFound, Conflict, AlreadySettled, InvalidArgument, TooLarge, QuotaExceeded.
func (s *Service) StartExec(ctx context.Context, p hub.Principal, r ExecRequest) (ExecPage, error) {
	if err := checkExec(&r); err != nil {
		return ExecPage{}, err
	}
	x := hub.Exec{
		Kind: hub.ExecRun, Timeout: r.Timeout, Limit: s.policy.MaxExecBytes,
		Input: int64(len(r.Stdin)), InputTotal: int64(len(r.Stdin)),
		Order: hub.ExecOrder{Service: r.Service, Command: r.Command, Env: r.Env, User: r.User, WorkingDir: r.WorkingDir},
	}
	x, err := s.park(ctx, p, r.JobID, x, r.Stdin, strings.Join(r.Command, " "))
	if err != nil {
		return ExecPage{}, err
	}
	// It is on its way: what fails from here on must not look like a command that was not run.
	return s.awaitExec(ctx, WaitExecRequest{JobID: x.JobID, ExecID: x.ID, Wait: r.Wait, MaxBytes: r.MaxBytes, Progress: r.Progress}, x, true)
}

// StartCopy opens a copy: of a put the caller then sends the archive with FillExec, of a get it reads one with ReadExec.
func (s *Service) StartCopy(ctx context.Context, p hub.Principal, r CopyRequest) (ExecPage, error) {
	switch {
	case r.Path == "" || len(r.Path) > maxPath || strings.ContainsRune(r.Path, 0):
		return ExecPage{}, hub.Errorf(hub.InvalidArgument, "the path has 1 to %d bytes, and no zero byte", maxPath)
	case r.Put && r.Bytes <= 0:
		return ExecPage{}, hub.Errorf(hub.InvalidArgument, "an archive has at least one byte")
	case !r.Put && r.Bytes != 0:
		return ExecPage{}, hub.Errorf(hub.InvalidArgument, "bytes are announced of what is put")
	case r.Bytes > s.policy.MaxCopyBytes:
		return ExecPage{}, hub.Errorf(hub.TooLarge, "the archive has %d bytes and may have %d", r.Bytes, s.policy.MaxCopyBytes).
			WithHint("copy less, or have the job fetch it").
			WithDetail("limit", "max_copy_bytes").WithDetail("max", s.policy.MaxCopyBytes)
	}
	x := hub.Exec{
		Kind: hub.ExecGet, Timeout: CopyTimeout, Limit: s.policy.MaxCopyBytes, InputTotal: r.Bytes,
		Order: hub.ExecOrder{Service: r.Service, Path: r.Path},
	}
	if r.Put {
		x.Kind, x.Limit = hub.ExecPut, 0
	}
	x, err := s.park(ctx, p, r.JobID, x, nil, string(x.Kind)+" "+r.Path)
	return ExecPage{Exec: x}, err
}

// EndHold has a held job's topology removed now, or ends a session, which succeeds.
func (s *Service) EndHold(ctx context.Context, p hub.Principal, jobID string) (JobView, error) {
	j, _, err := s.job(ctx, p, jobID)
	if err != nil {
		return JobView{}, err
	}
	x, reason := hub.Exec{Kind: hub.ExecRelease, Timeout: time.Minute}, "the hold is ended"
	if j.State.Live() && j.Held == nil {
		payload, err := s.store.GetPayload(ctx, jobID)
		if err != nil {
			return JobView{}, err
		}
		if isSession(payload) {
			x.Kind, reason = hub.ExecFinish, "the session is ended"
		}
	}
	if _, err := s.park(ctx, p, jobID, x, nil, reason); err != nil {
		return JobView{}, err
	}
	return s.view(ctx, jobID)
}

// maxPath is the most bytes of a path.
const maxPath = 4096

func checkExec(r *ExecRequest) error {
	size := 0
	for _, word := range r.Command {
		size += len(word)
		if strings.ContainsRune(word, 0) {
			return hub.Errorf(hub.InvalidArgument, "no word of a command holds a zero byte")
		}
	}
	for k, v := range r.Env {
		size += len(k) + len(v)
		if k == "" || strings.ContainsAny(k, "=\x00") || strings.ContainsRune(v, 0) {
			return hub.Errorf(hub.InvalidArgument, "%q cannot be in an environment", clip(k, 40))
		}
	}
	switch {
	case len(r.Command) == 0 || r.Command[0] == "":
		return hub.Errorf(hub.InvalidArgument, "there is no command").WithHint("send the program and its arguments, for a script [sh, -c, SCRIPT]")
	case size > maxCommand:
		return hub.Errorf(hub.TooLarge, "the command and its environment have %d bytes and may have %d", size, maxCommand).
			WithHint("send what is long as standard input")
	case len(r.Stdin) > MaxExecStdin:
		return hub.Errorf(hub.TooLarge, "the standard input has %d bytes and may have %d", len(r.Stdin), MaxExecStdin).
			WithHint("copy it into the job as a file: runnerctl cp")
	case r.WorkingDir != "" && !strings.HasPrefix(r.WorkingDir, "/"):
		return hub.Errorf(hub.InvalidArgument, "working_dir is absolute")
	case r.Timeout < 0 || r.Timeout > MaxExecTimeout:
		return hub.Errorf(hub.InvalidArgument, "a command may take at most %s", MaxExecTimeout)
	}
	if r.Timeout == 0 {
		r.Timeout = DefaultExecTimeout
	}
	return nil
}

// park stores a request where the job's runner finds it, whichever hub it talks to. The job's timeline says in reason's words what was
// asked for.
func (s *Service) park(ctx context.Context, p hub.Principal, jobID string, x hub.Exec, input []byte, reason string) (hub.Exec, error) {
	j, c, err := s.job(ctx, p, jobID)
	if err != nil {
		return x, err
	}
	payload, err := s.recent.payload(ctx, s.store, jobID)
	if err != nil {
		return x, err
	}
	if err := hub.Enterable(j, payload, x.Kind); err != nil {
		return x, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return x, err
	}
	x.ID, x.JobID, x.Attempt, x.By = hub.ExecIDPrefix+id.String(), j.ID, j.Attempt, c.User.ID
	x = hub.NewExec(x, s.clock.now())
	if len(input) > 0 { // before the row: a request that is parked has its input
		if err := s.bucket.Put(ctx, execKey(x.ID, execStdin, 0), input); err != nil {
			return x, unavailable("the standard input could not be stored", err)
		}
	}
	if err := s.store.CreateExec(ctx, x, maxOpenExecs, s.execEvent(p, j, x, hub.ActExecRequested, asked(x, reason))); err != nil {
		if len(input) > 0 {
			_ = s.bucket.DeleteAll(context.WithoutCancel(ctx), execFolder(x.ID)) // else it is nobody's
		}
		return x, err
	}
	s.changed(j.ID, true)
	return x, nil
}

// WaitExec answers what a request has come to since some offsets, holding the call until there is something new.
func (s *Service) WaitExec(ctx context.Context, p hub.Principal, r WaitExecRequest) (ExecPage, error) {
	x, err := s.execOf(ctx, p, r.JobID, r.ExecID)
	if err != nil {
		return ExecPage{}, err
	}
	return s.awaitExec(ctx, r, x, false)
}

// execOf reads a request of a job that the caller may see.
func (s *Service) execOf(ctx context.Context, p hub.Principal, jobID, execID string) (hub.Exec, error) {
	if _, _, err := s.job(ctx, p, jobID); err != nil {
		return hub.Exec{}, err
	}
	if !printable(execID) {
		return hub.Exec{}, noExec(execID)
	}
	x, err := s.store.GetExec(ctx, execID)
	if hub.CodeOf(err) == hub.NotFound || (err == nil && x.JobID != jobID) {
		return hub.Exec{}, noExec(execID)
	}
	return x, err
}

func noExec(id string) error {
	return hub.Errorf(hub.NotFound, "the job has no request %q", clip(id, 80)).
		WithHint("a request is forgotten %s after its end", hub.ExecKept)
}

// awaitExec waits for news of a request and reads them; untilEnd for its end alone, or for more output than an answer carries.
func (s *Service) awaitExec(ctx context.Context, r WaitExecRequest, x hub.Exec, untilEnd bool) (ExecPage, error) {
	if r.MaxBytes == 0 {
		r.MaxBytes = DefaultExecPage
	}
	x, err := s.execNews(ctx, r, x, untilEnd)
	if err != nil {
		return ExecPage{}, err
	}
	return s.execPage(ctx, x, r)
}

func (s *Service) execNews(ctx context.Context, r WaitExecRequest, x hub.Exec, untilEnd bool) (hub.Exec, error) {
	w := s.watch.add(x.ID) // before the first look, so that no change falls between
	defer s.watch.remove(w)
	h := s.hold(ctx, r.Wait)
	defer h.stop()
	var told pace
	for {
		got, err := s.store.GetExec(ctx, x.ID)
		if err != nil {
			return x, err
		}
		if got, err = s.expireExec(ctx, got); err != nil {
			return x, err
		}
		news := got.Stdout > r.StdoutFrom || got.Stderr > r.StderrFrom
		full := got.Stdout-r.StdoutFrom >= r.MaxBytes || got.Stderr-r.StderrFrom >= r.MaxBytes
		if !got.Open() || full || (news && !untilEnd) || r.Wait <= 0 {
			return got, nil
		}
		if r.Progress != nil && told.due(h) {
			told.told()
			r.Progress(got)
		}
		switch err := h.wait(w.ch); {
		case errors.Is(err, errWaited), hub.CodeOf(err) == hub.Draining && untilEnd:
			return got, nil // a caller whose command is under way must hear its id
		case err != nil:
			return x, err
		}
	}
}

// execPage reads the output from some offsets on.
func (s *Service) execPage(ctx context.Context, x hub.Exec, r WaitExecRequest) (page ExecPage, err error) {
	page.Exec = x
	if page.Stdout, page.StdoutNext, err = s.execBytes(ctx, x.ID, execStdout, r.StdoutFrom, x.Stdout, r.MaxBytes); err != nil {
		return page, err
	}
	if page.Stderr, page.StderrNext, err = s.execBytes(ctx, x.ID, execStderr, r.StderrFrom, x.Stderr, r.MaxBytes); err != nil {
		return page, err
	}
	page.Done = !x.Open() && page.StdoutNext >= x.Stdout && page.StderrNext >= x.Stderr
	return page, nil
}

// ReadExec reads a part of what a request has put out, holding the call until there is some. It is empty when nothing more has
// come, and open says whether something may.
func (s *Service) ReadExec(ctx context.Context, p hub.Principal, jobID, execID string, from int64, wait time.Duration) (data []byte, open bool, err error) {
	x, err := s.execOf(ctx, p, jobID, execID)
	if err != nil {
		return nil, false, err
	}
	if x, err = s.execNews(ctx, WaitExecRequest{StdoutFrom: from, StderrFrom: x.Limit, Wait: wait, MaxBytes: MaxExecPage}, x, false); err != nil {
		return nil, false, err
	}
	data, next, err := s.execBytes(ctx, x.ID, execStdout, from, x.Stdout, MaxExecPage)
	return data, x.Open() || next < x.Stdout, err
}

// FillExec takes a part of an archive that a caller puts, and returns the offset to go on from. A repeat is accepted.
func (s *Service) FillExec(ctx context.Context, p hub.Principal, jobID, execID string, offset int64, data []byte) (int64, error) {
	x, err := s.execOf(ctx, p, jobID, execID)
	if err != nil {
		return 0, err
	}
	if x.By != p.User.ID {
		return 0, noExec(execID)
	}
	if n := int64(len(data)); offset >= 0 && offset+n <= x.Input { // its answer was lost
		return x.Input, nil
	}
	next, err := x.Fill(offset, int64(len(data)), s.clock.now())
	if err != nil {
		return 0, err
	}
	if err := s.bucket.Put(ctx, execKey(x.ID, execStdin, offset), data); err != nil {
		return 0, unavailable("the archive could not be stored", err)
	}
	if err := s.store.UpdateExec(ctx, next, hub.Event{}); err != nil {
		return 0, err
	}
	if next.State == hub.ExecParked {
		s.changed(next.JobID, true)
	}
	return next.Input, nil
}

// StopExec ends a request: one that has begun by asking its runner to kill the command.
func (s *Service) StopExec(ctx context.Context, p hub.Principal, jobID, execID string) (ExecPage, error) {
	for range maxTries {
		x, err := s.execOf(ctx, p, jobID, execID)
		if err != nil {
			return ExecPage{}, err
		}
		next, changed := x.Stop(s.clock.now())
		if !changed {
			return ExecPage{Exec: x}, nil
		}
		err = s.writeExec(ctx, p, next)
		if !errors.Is(err, hub.ErrConflict) {
			return ExecPage{Exec: next}, err
		}
	}
	return ExecPage{}, errBusy()
}

// asked is what the audit log keeps of a request: what, never what goes in or comes out.
func asked(x hub.Exec, reason string) map[string]string {
	d := map[string]string{"exec_id": x.ID, "kind": string(x.Kind), "reason": oneLine(reason)}
	for k, v := range map[string]string{
		"service": x.Order.Service, "user": x.Order.User, "working_dir": x.Order.WorkingDir, "path": x.Order.Path,
	} {
		if v != "" {
			d[k] = bound(v, maxAuditArgv)
		}
	}
	if len(x.Order.Command) > 0 && x.Order.Path == "" { // with a path it is a script of ours
		d["argv"] = bound(fmt.Sprintf("%q", x.Order.Command), maxAuditArgv)
	}
	return d
}

// oneLine makes a command fit for a timeline.
func oneLine(s string) string {
	const most = 120
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == utf8.RuneError {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return clip(s, most)
}

func (s *Service) execEvent(p hub.Principal, j hub.Job, x hub.Exec, a hub.Action, detail map[string]string) hub.Event {
	e := hub.Event{
		Time: s.clock.now(), Actor: p.Actor(), Address: p.Address, Action: a, Owner: j.Owner, WorkspaceID: j.WorkspaceID,
		JobID: j.ID, Attempt: x.Attempt, RunnerID: j.LeaseRunnerID, Detail: detail,
	}
	if by := "user:" + x.By; by != e.Actor {
		e.OnBehalfOf = by
	}
	return e
}
