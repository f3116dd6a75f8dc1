package dispatch

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/runnerhub/runnerhub/hub"
)

// What a runner does about a request. It proves its attempt by the capability of the attempt's log.

// orders are the requests that the holder of a lease has not begun, or is to stop.
func (s *Service) orders(ctx context.Context, j hub.Job, payload hub.JobPayload) ([]ExecOrder, error) {
	if j.Held == nil && !payload.Exec {
		return nil, nil
	}
	open, err := s.store.OpenExecs(ctx, j.ID)
	if err != nil {
		return nil, err
	}
	var out []ExecOrder
	for _, x := range open {
		if x.Attempt != j.Attempt {
			continue
		}
		if stop := x.State == hub.ExecRunning && !x.StopAt.IsZero(); stop || x.State == hub.ExecParked {
			out = append(out, ExecOrder{Exec: x, Stop: stop})
		}
	}
	return out, nil
}

// BeginExec lets the runner of the attempt carry a request out, once: AlreadySettled says to leave it alone.
func (s *Service) BeginExec(ctx context.Context, capDigest []byte, execID, claim string) error {
	return s.changeExec(ctx, capDigest, execID, func(x hub.Exec) (hub.Exec, bool, error) {
		return x.Begin(hub.Digest(claim), s.clock.now())
	})
}

// EndExec takes what a request came to.
func (s *Service) EndExec(ctx context.Context, capDigest []byte, execID, claim string, e hub.ExecEnd) error {
	switch e.Status {
	case hub.ExecExited, hub.ExecFailed, hub.ExecTimedOut, hub.ExecStopped:
	default:
		return hub.Errorf(hub.InvalidArgument, "status %q is none of exited, failed, timed_out, stopped", clip(e.Status, 40))
	}
	e.Message = bound(e.Message, maxMessage)
	return s.changeExec(ctx, capDigest, execID, func(x hub.Exec) (hub.Exec, bool, error) {
		return x.Finish(hub.Digest(claim), e, s.clock.now())
	})
}

// ExecInput reads a part of what goes into a request that has begun; empty at its end.
func (s *Service) ExecInput(ctx context.Context, capDigest []byte, execID string, from int64) ([]byte, error) {
	x, _, err := s.execByCap(ctx, capDigest, execID)
	if err != nil {
		return nil, err
	}
	if x.State != hub.ExecRunning {
		return nil, hub.Errorf(hub.AlreadySettled, "the request is %s", x.State)
	}
	data, _, err := s.execBytes(ctx, x.ID, execStdin, from, x.Input, MaxCopyChunk)
	return data, err
}

// AppendExec takes a part of the output and returns the offset to go on from. A repeat is accepted.
func (s *Service) AppendExec(ctx context.Context, capDigest []byte, execID string, stderr bool, offset int64, data []byte) (int64, error) {
	n := int64(len(data))
	for range maxTries {
		x, _, err := s.execByCap(ctx, capDigest, execID)
		if err != nil {
			return 0, err
		}
		if most := int64(chunkOf(x.Kind)); n > most {
			return 0, hub.Errorf(hub.TooLarge, "the chunk has %d bytes and may have %d", n, most)
		}
		have, stream := x.Stdout, execStdout
		if stderr {
			have, stream = x.Stderr, execStderr
		}
		if n == 0 || offset >= 0 && offset+n <= have { // its answer was lost
			return have, nil
		}
		next, err := x.Received(stderr, offset, n)
		if err != nil {
			return 0, err
		}
		// Bytes before the row that counts them. The one writer sends the same bytes again when this hub dies in between.
		if err := s.bucket.Put(ctx, execKey(x.ID, stream, offset), data); err != nil {
			return 0, unavailable("the output could not be stored", err)
		}
		err = s.store.UpdateExec(ctx, next, hub.Event{})
		if errors.Is(err, hub.ErrConflict) {
			continue
		}
		if err == nil {
			s.changed(x.ID, false)
		}
		return have + n, err
	}
	return 0, errBusy()
}

func chunkOf(k hub.ExecKind) int {
	if k == hub.ExecRun {
		return MaxExecChunk
	}
	return MaxCopyChunk
}

// changeExec decides about a request on the word of its attempt's runner, and writes that.
func (s *Service) changeExec(ctx context.Context, capDigest []byte, execID string, f func(hub.Exec) (hub.Exec, bool, error)) error {
	for range maxTries {
		x, a, err := s.execByCap(ctx, capDigest, execID)
		if err != nil {
			return err
		}
		next, changed, err := f(x)
		if err != nil || !changed {
			return err
		}
		err = s.writeExec(ctx, hub.Principal{Kind: hub.KindRunner, Runner: hub.Runner{ID: a.RunnerID}}, next)
		if !errors.Is(err, hub.ErrConflict) {
			return err
		}
	}
	return errBusy()
}

// execByCap finds a request of the attempt whose log has a capability, while that attempt holds the job.
func (s *Service) execByCap(ctx context.Context, capDigest []byte, execID string) (hub.Exec, hub.Attempt, error) {
	a, err := s.store.AttemptByLog(ctx, capDigest)
	if hub.CodeOf(err) == hub.NotFound || (err == nil && !printable(execID)) {
		return hub.Exec{}, a, noExec(execID)
	}
	if err != nil {
		return hub.Exec{}, a, err
	}
	x, err := s.store.GetExec(ctx, execID)
	switch {
	case hub.CodeOf(err) == hub.NotFound || (err == nil && (x.JobID != a.JobID || x.Attempt != a.Number)):
		return hub.Exec{}, a, noExec(execID)
	case err != nil:
		return hub.Exec{}, a, err
	case !a.State.Live():
		return hub.Exec{}, a, hub.Errorf(hub.StaleLease, "the attempt is over: %s", a.State).WithHint("end what the request runs")
	}
	return x, a, nil
}

// writeExec writes a request, with an event when that ended it, and tells whoever waits.
func (s *Service) writeExec(ctx context.Context, p hub.Principal, x hub.Exec) error {
	var e hub.Event
	if !x.Open() {
		j, err := s.store.GetJob(ctx, x.JobID)
		if err != nil {
			return err
		}
		e = s.execEvent(p, j, x, hub.ActExecEnded, came(x))
	}
	if err := s.store.UpdateExec(ctx, x, e); err != nil {
		return err
	}
	s.changed(x.ID, true)
	if !x.StopAt.IsZero() && x.Open() {
		s.changed(x.JobID, true)
	}
	return nil
}

// came is what the audit log keeps of a request's end.
func came(x hub.Exec) map[string]string {
	d := map[string]string{"exec_id": x.ID, "status": x.End.Status, "reason": x.End.Status}
	if x.End.ExitCode != nil {
		d["exit_code"] = strconv.Itoa(*x.End.ExitCode)
		d["reason"] = fmt.Sprintf("%s with exit code %d", x.End.Status, *x.End.ExitCode)
	}
	if x.End.Message != "" {
		d["message"] = bound(x.End.Message, maxAuditArgv)
	}
	return d
}

// The streams of a request, as its bytes' keys name them.
const (
	execStdin  = "in"
	execStdout = "out"
	execStderr = "err"
)

func execFolder(id string) string { return "execs/" + id }

func execKey(id, stream string, offset int64) string {
	return fmt.Sprintf("%s/%s.%020d", execFolder(id), stream, offset)
}

// execBytes reads whole chunks from an offset at which one begins, of size bytes that are there, until about most bytes are read.
func (s *Service) execBytes(ctx context.Context, id, stream string, from, size, most int64) (data []byte, next int64, err error) {
	if from < 0 || from > size {
		return nil, from, hub.Errorf(hub.InvalidArgument, "offset %d is beyond the %d bytes that are there", from, size)
	}
	for next = from; next < size && int64(len(data)) < max(most, 1); {
		chunk, err := s.bucket.Get(ctx, execKey(id, stream, next))
		if hub.CodeOf(err) == hub.NotFound {
			return nil, from, hub.Errorf(hub.InvalidArgument, "nothing begins at offset %d", next).WithHint("send next_offset of an earlier answer")
		}
		if err != nil {
			return nil, from, unavailable("the bytes could not be read", err)
		}
		if len(data) > 0 && int64(len(data)+len(chunk)) > most {
			break
		}
		chunk = chunk[:min(int64(len(chunk)), size-next)]
		data = append(data, chunk...)
		next += int64(len(chunk))
	}
	return data, next, nil
}
