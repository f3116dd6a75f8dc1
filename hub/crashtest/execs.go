package crashtest

import (
	"errors"
	"fmt"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
)

// execCases are what is done about a held job and about requests to reach into it.
var execCases = []useCase{
	{name: "begin a hold", prepare: holdable, run: hold, check: isHeld},
	{name: "report a held job", prepare: held, run: report(hub.JobFailed, hub.ClassScript), check: ended(hub.JobFailed, 1, 0)},
	{name: "sweep a held job that was lost", prepare: after(asking, 2*time.Minute), run: sweep, check: both(ended(hub.JobFailed, 1, 0), execEnded(hub.ExecLost))},
	{name: "run a command", prepare: held, run: runCommand, check: parked},
	{name: "end a hold", prepare: held, run: endHold, check: parked},
	{name: "send what is put", prepare: filling, run: fill, check: parked},
	{name: "begin a command", prepare: asking, run: beginExec, check: execIs(hub.ExecRunning)},
	{name: "write a command's output", prepare: begun, run: writeOutput, check: written},
	{name: "end a command", prepare: begun, run: endExec, check: execEnded(hub.ExecExited)},
	{name: "stop a command that waits", prepare: asking, run: stopExec, check: execEnded(hub.ExecStopped)},
	{name: "stop a command that runs", prepare: begun, run: stopExec, check: asksToStop},
	{name: "sweep a command that nobody fetched", prepare: stalled, run: sweep, check: execEnded(hub.ExecLost)},
	{name: "forget a command", prepare: outdated, run: sweep, check: forgotten},
}

func holdable(w *world) {
	r := submission("")
	r.Spec = []byte("image: busybox\nhold_on_failure: 1h\n")
	w.must(w.submit(w.healthy, r))
	w.must(w.take(w.healthy))
	w.must(w.beat(w.healthy))
}

func held(w *world) {
	holdable(w)
	w.must(hold(w, w.healthy))
}

func asking(w *world) {
	held(w)
	w.must(runCommand(w, w.healthy))
}

func begun(w *world) {
	asking(w)
	w.must(beginExec(w, w.healthy))
}

func over(w *world) {
	begun(w)
	w.must(writeOutput(w, w.healthy))
	w.must(endExec(w, w.healthy))
}

// outdated is a request that is to be forgotten, and the only one: earlier worlds have left some.
func outdated(w *world) {
	over(w)
	w.now = w.now.Add(hub.ExecKept - time.Second)
	for more := true; more; {
		w.must(sweep(w, w.healthy))
		old, err := w.healthy.store.ExpiredExecs(w.ctx, w.now, 1)
		w.must(err)
		more = len(old) > 0
	}
	w.now = w.now.Add(2 * time.Second)
}

func filling(w *world) {
	held(w)
	p, err := w.healthy.StartCopy(w.ctx, w.person, dispatch.CopyRequest{JobID: w.job, Path: "/tmp", Put: true, Bytes: int64(len(execText))})
	w.must(err)
	w.exec = p.Exec.ID
}

// stalled is a runner that renews its lease and fetches nothing.
func stalled(w *world) {
	asking(w)
	w.now = w.now.Add(40 * time.Second)
	w.must(hold(w, w.healthy))
	w.now = w.now.Add(40 * time.Second)
	w.must(hold(w, w.healthy))
}

func hold(w *world, h *service) error {
	out, err := h.Heartbeat(w.ctx, w.runner, dispatch.HeartbeatRequest{
		JobID: w.job, Proof: w.lease.Proof, Phase: hub.PhaseHeld,
		Held: &hub.HoldReport{Left: time.Hour, State: hub.JobFailed, Failure: hub.Failure{Class: hub.ClassScript, Message: "it broke"}},
	})
	if err == nil && out.State != dispatch.HeartbeatHeld {
		err = fmt.Errorf("a heartbeat was told %s", out.State)
	}
	return err
}

const execText = "what goes in or comes out\n"

func runCommand(w *world, h *service) error {
	p, err := h.StartExec(w.ctx, w.person, dispatch.ExecRequest{JobID: w.job, Command: []string{"cat"}, Stdin: []byte(execText)})
	if err == nil {
		w.exec = p.Exec.ID
	}
	return err
}

func endHold(w *world, h *service) error {
	_, err := h.EndHold(w.ctx, w.person, w.job)
	return err
}

func fill(w *world, h *service) error {
	next, err := h.FillExec(w.ctx, w.person, w.job, w.exec, 0, []byte(execText))
	if err == nil && next != int64(len(execText)) {
		err = fmt.Errorf("the next offset is %d", next)
	}
	return err
}

// capability is the runner's of the attempt that holds the job.
func (w *world) capability() []byte { return hub.Digest(w.lease.LogToken) }

func beginExec(w *world, h *service) error {
	return h.BeginExec(w.ctx, w.capability(), w.exec, "its word")
}

func writeOutput(w *world, h *service) error {
	next, err := h.AppendExec(w.ctx, w.capability(), w.exec, false, 0, []byte(execText))
	if err == nil && next != int64(len(execText)) {
		err = fmt.Errorf("the next offset is %d", next)
	}
	return err
}

func endExec(w *world, h *service) error {
	code := 7
	return h.EndExec(w.ctx, w.capability(), w.exec, "its word", hub.ExecEnd{Status: hub.ExecExited, ExitCode: &code})
}

func stopExec(w *world, h *service) error {
	_, err := h.StopExec(w.ctx, w.person, w.job, w.exec)
	return err
}

func both(checks ...func(*world, hub.Store) error) func(*world, hub.Store) error {
	return func(w *world, s hub.Store) error {
		var err error
		for _, check := range checks {
			err = errors.Join(err, check(w, s))
		}
		return err
	}
}

func isHeld(w *world, s hub.Store) error {
	j, err := s.GetJob(w.ctx, w.job)
	if err == nil && (j.Held == nil || j.Failure == nil || j.Failure.Class != hub.ClassScript) {
		err = fmt.Errorf("the job is held as %+v, failure %+v", j.Held, j.Failure)
	}
	return errors.Join(err, w.events(s, hub.ActJobHeld, 1))
}

// parked: what was asked for waits for the runner, twice where the caller had to ask twice, and all that goes in is there.
func parked(w *world, s hub.Store) error {
	open, err := s.OpenExecs(w.ctx, w.job)
	if err != nil || len(open) < 1 || len(open) > 2 {
		return fmt.Errorf("%d requests are open, error %w", len(open), err)
	}
	for _, x := range open {
		if err := fetch(w, s, x); err != nil {
			return err
		}
	}
	return w.events(s, hub.ActExecRequested, len(open))
}

// fetch has the runner begin a request, and read all of what goes in.
func fetch(w *world, s hub.Store, x hub.Exec) error {
	h := w.hub(s)
	if err := h.BeginExec(w.ctx, w.capability(), x.ID, "its word"); err != nil || x.InputTotal == 0 {
		return err
	}
	in, err := h.ExecInput(w.ctx, w.capability(), x.ID, 0)
	if err == nil && string(in) != execText {
		err = fmt.Errorf("the input is %q", in)
	}
	return err
}

func execIs(state hub.ExecState) func(*world, hub.Store) error {
	return func(w *world, s hub.Store) error {
		x, err := s.GetExec(w.ctx, w.exec)
		if err == nil && x.State != state {
			err = fmt.Errorf("the request is %s", x.State)
		}
		return err
	}
}

func execEnded(status string) func(*world, hub.Store) error {
	return func(w *world, s hub.Store) error {
		x, err := s.GetExec(w.ctx, w.exec)
		if err == nil && (x.End == nil || x.End.Status != status) {
			err = fmt.Errorf("the request is %s and came to %+v", x.State, x.End)
		}
		return errors.Join(err, w.events(s, hub.ActExecEnded, 1))
	}
}

func asksToStop(w *world, s hub.Store) error {
	x, err := s.GetExec(w.ctx, w.exec)
	if err == nil && (x.State != hub.ExecRunning || x.StopAt.IsZero()) {
		err = fmt.Errorf("the request is %s, and to be stopped since %v", x.State, x.StopAt)
	}
	return err
}

// written: the output is there once.
func written(w *world, s hub.Store) error {
	p, err := w.hub(s).WaitExec(w.ctx, w.person, dispatch.WaitExecRequest{JobID: w.job, ExecID: w.exec})
	if err == nil && string(p.Stdout) != execText {
		err = fmt.Errorf("the output is %q", p.Stdout)
	}
	return err
}

func forgotten(w *world, s hub.Store) error {
	if _, err := s.GetExec(w.ctx, w.exec); hub.CodeOf(err) != hub.NotFound {
		return fmt.Errorf("the request is still there, or: %w", err)
	}
	return nil
}

// events wants so many events of a kind about the job.
func (w *world) events(s hub.Store, a hub.Action, want int) error {
	all, err := s.ListEvents(w.ctx, w.job)
	if err != nil {
		return err
	}
	n := 0
	for _, e := range all {
		if e.Action == a {
			n++
		}
	}
	if n != want {
		return fmt.Errorf("%d events %s, want %d", n, a, want)
	}
	return nil
}
