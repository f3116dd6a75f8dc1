package dispatch_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
)

const heldSpec = "image: busybox\ncommand: [\"false\"]\nhold_on_failure: 10m\n"

// hold begins to hold the job of a lease.
func (m *machine) hold(l *dispatch.Lease, wait time.Duration) (dispatch.HeartbeatResult, error) {
	code := 3
	return m.s.Heartbeat(m.ctx, m.p, dispatch.HeartbeatRequest{JobID: l.JobID, Proof: l.Proof, Phase: "held", Wait: wait, Held: &hub.HoldReport{
		Left: 5 * time.Minute, State: hub.JobFailed, ExitCode: &code, Failure: hub.Failure{Class: hub.ClassScript, Message: "it broke"},
	}})
}

// heldJob is a job that a machine holds.
func (w *world) heldJob() (*machine, *dispatch.Lease) {
	w.Helper()
	m := w.machine(self(w.ann))
	w.submit(specText(heldSpec))
	l := m.take()
	m.begin(l)
	_, err := m.hold(l, 0)
	w.must(err)
	return m, l
}

func capOf(l *dispatch.Lease) []byte { return hub.Digest(l.LogToken) }

func command(jobID string, argv ...string) dispatch.ExecRequest {
	return dispatch.ExecRequest{JobID: jobID, Command: argv}
}

// A caller of one hub reaches a runner that talks to another one, and hears what its command wrote.
func TestACommandGoesFromHubToHub(t *testing.T) {
	onStores(t, func(b backend) {
		w := newWorld(b, longLeases())
		there := w.hub(b.open(), longLeases())
		w.run(w.s)
		w.run(there)
		m, l := w.heldJob()
		m.s = there

		beat := beside(func() (dispatch.HeartbeatResult, error) { return m.hold(l, time.Minute) })
		r := command(l.JobID, "sh", "-c", "cat; echo err >&2; exit 7")
		r.Stdin, r.Wait = []byte("in"), time.Minute
		answer := beside(func() (dispatch.ExecPage, error) { return w.s.StartExec(w.ctx, w.ann, r) })
		got, err := get(w, beat)
		w.must(err)
		if len(got.Orders) != 1 || got.Orders[0].Kind != hub.ExecRun || !slices.Equal(got.Orders[0].Order.Command, r.Command) {
			t.Fatalf("the heartbeat answers %+v", got)
		}
		id := got.Orders[0].ID
		w.must(there.BeginExec(w.ctx, capOf(l), id, "word"))
		in, err := there.ExecInput(w.ctx, capOf(l), id, 0)
		w.must(err)
		if string(in) != "in" {
			t.Errorf("standard input %q", in)
		}
		for range 2 { // the answer to the first was lost
			next, err := there.AppendExec(w.ctx, capOf(l), id, false, 0, []byte("in"))
			w.must(err)
			if next != 2 {
				t.Errorf("go on from %d", next)
			}
		}
		_, err = there.AppendExec(w.ctx, capOf(l), id, true, 0, []byte("err\n"))
		w.must(err)
		code := 7
		w.must(there.EndExec(w.ctx, capOf(l), id, "word", hub.ExecEnd{Status: hub.ExecExited, ExitCode: &code}))
		page, err := get(w, answer)
		w.must(err)
		if !page.Done || *page.Exec.End.ExitCode != 7 || string(page.Stdout) != "in" || string(page.Stderr) != "err\n" {
			t.Errorf("the caller hears %+v, %q, %q", page.Exec.End, page.Stdout, page.Stderr)
		}
		// It is over: no heartbeat brings it again, and nobody begins it again.
		got, err = m.hold(l, 0)
		w.must(err)
		if len(got.Orders) != 0 {
			t.Errorf("%+v comes again", got.Orders)
		}
		w.wantCode(there.BeginExec(w.ctx, capOf(l), id, "another word"), hub.AlreadySettled)
		w.audited(l.JobID)
	})
}

// audited wants the request's events: who asked for what and its exit code, and nothing of what went in or came out.
func (w *world) audited(jobID string) {
	w.Helper()
	events, err := w.store.ListEvents(w.ctx, jobID)
	w.must(err)
	told := map[hub.Action]hub.Event{}
	for _, e := range events {
		told[e.Action] = e
	}
	asked, ended := told[hub.ActExecRequested], told[hub.ActExecEnded]
	if asked.Actor != w.ann.Actor() || !strings.Contains(asked.Detail["argv"], "exit 7") || asked.Detail["exec_id"] == "" {
		w.Errorf("asked: %+v", asked)
	}
	if ended.Detail["exit_code"] != "7" || ended.OnBehalfOf != w.ann.Actor() {
		w.Errorf("ended: %+v", ended)
	}
}

// A request comes with every heartbeat until a runner has begun it, so that none is lost with an answer; and a runner process
// that did not begin it cannot.
func TestARequestIsDeliveredUntilItIsBegun(t *testing.T) {
	onStores(t, func(b backend) {
		w := newWorld(b)
		m, l := w.heldJob()
		page, err := w.s.StartExec(w.ctx, w.ann, command(l.JobID, "true"))
		w.must(err)
		for range 3 { // the hub was killed before its answer was out
			got, err := m.hold(l, 0)
			w.must(err)
			if len(got.Orders) != 1 || got.Orders[0].ID != page.Exec.ID {
				t.Fatalf("%+v", got.Orders)
			}
		}
		w.must(w.s.BeginExec(w.ctx, capOf(l), page.Exec.ID, "word"))
		w.must(w.s.BeginExec(w.ctx, capOf(l), page.Exec.ID, "word"))
		w.wantCode(w.s.BeginExec(w.ctx, capOf(l), page.Exec.ID, "of the next process"), hub.AlreadySettled)

		_, err = w.s.StopExec(w.ctx, w.ann, l.JobID, page.Exec.ID)
		w.must(err)
		got, err := m.hold(l, 0)
		w.must(err)
		if len(got.Orders) != 1 || !got.Orders[0].Stop {
			t.Errorf("the runner is told %+v", got.Orders)
		}
		// The job ends before the command's end is told: the caller is told that, and not left waiting.
		m.settle(failure(l, hub.ClassScript))
		w.wantCode(w.s.EndExec(w.ctx, capOf(l), page.Exec.ID, "word", hub.ExecEnd{Status: hub.ExecStopped}), hub.StaleLease)
		last, err := w.s.WaitExec(w.ctx, w.ann, dispatch.WaitExecRequest{JobID: l.JobID, ExecID: page.Exec.ID, Wait: time.Minute})
		w.must(err)
		if !last.Done || last.Exec.End.Status != hub.ExecLost {
			t.Errorf("%+v", last.Exec)
		}
	})
}

func TestNobodyElseReachesIn(t *testing.T) {
	onStores(t, func(b backend) {
		w := newWorld(b)
		m, l := w.heldJob()
		stranger := w.person(w.ws)
		_, err := w.s.StartExec(w.ctx, stranger, command(l.JobID, "true"))
		w.wantCode(err, hub.NotFound)
		_, err = w.s.StartExec(w.ctx, m.p, command(l.JobID, "true"))
		w.wantCode(err, hub.PermissionDenied)
		page, err := w.s.StartExec(w.ctx, w.ann, command(l.JobID, "true"))
		w.must(err)
		_, err = w.s.WaitExec(w.ctx, stranger, dispatch.WaitExecRequest{JobID: l.JobID, ExecID: page.Exec.ID})
		w.wantCode(err, hub.NotFound)
		w.wantCode(w.s.BeginExec(w.ctx, hub.Digest("cap_of_another"), page.Exec.ID, "word"), hub.NotFound)

		running := w.submit()
		m.begin(m.take())
		_, err = w.s.StartExec(w.ctx, w.ann, command(running.ID, "true"))
		w.wantCode(err, hub.Conflict)
		allowed := w.submit(specText(spec + "exec: true\n"))
		m.begin(m.take())
		_, err = w.s.StartExec(w.ctx, w.ann, command(allowed.ID, "true"))
		w.must(err)
	})
}

// An archive goes in before its request is parked, and one comes out in pieces; both are forgotten soon after.
func TestArchivesGoInAndOut(t *testing.T) {
	onStores(t, func(b backend) {
		w := newWorld(b, withPolicy(func(p *hub.Policy) { p.MaxCopyBytes = 10; p.LeaseTTL = time.Hour }))
		m, l := w.heldJob()
		in, err := w.s.StartCopy(w.ctx, w.ann, dispatch.CopyRequest{JobID: l.JobID, Path: "/w/file", Put: true, Bytes: 8})
		w.must(err)
		_, err = w.s.StartCopy(w.ctx, w.ann, dispatch.CopyRequest{JobID: l.JobID, Path: "/w/file", Put: true, Bytes: 11})
		w.wantCode(err, hub.TooLarge)
		if got, err := m.hold(l, 0); err != nil || len(got.Orders) != 0 {
			t.Fatalf("delivered before its input: %+v, %v", got.Orders, err)
		}
		for offset, part := range map[int64]string{0: "abcd"} {
			_, err = w.s.FillExec(w.ctx, w.ann, l.JobID, in.Exec.ID, offset, []byte(part))
			w.must(err)
		}
		next, err := w.s.FillExec(w.ctx, w.ann, l.JobID, in.Exec.ID, 0, []byte("abcd")) // a repeat
		w.must(err)
		_, err = w.s.FillExec(w.ctx, w.ann, l.JobID, in.Exec.ID, next, []byte("efgh"))
		w.must(err)
		w.must(w.s.BeginExec(w.ctx, capOf(l), in.Exec.ID, "word"))
		var all []byte
		for {
			part, err := w.s.ExecInput(w.ctx, capOf(l), in.Exec.ID, int64(len(all)))
			w.must(err)
			if len(part) == 0 {
				break
			}
			all = append(all, part...)
		}
		if string(all) != "abcdefgh" {
			t.Errorf("%q goes in", all)
		}
		w.must(w.s.EndExec(w.ctx, capOf(l), in.Exec.ID, "word", hub.ExecEnd{Status: hub.ExecExited}))

		out, err := w.s.StartCopy(w.ctx, w.ann, dispatch.CopyRequest{JobID: l.JobID, Path: "/w/file"})
		w.must(err)
		w.must(w.s.BeginExec(w.ctx, capOf(l), out.Exec.ID, "word"))
		_, err = w.s.AppendExec(w.ctx, capOf(l), out.Exec.ID, false, 0, []byte("0123456789"))
		w.must(err)
		_, err = w.s.AppendExec(w.ctx, capOf(l), out.Exec.ID, false, 10, []byte("x"))
		w.wantCode(err, hub.TooLarge)
		data, open, err := w.s.ReadExec(w.ctx, w.ann, l.JobID, out.Exec.ID, 0, time.Minute)
		w.must(err)
		if !bytes.Equal(data, []byte("0123456789")) || !open {
			t.Errorf("%q, open %v", data, open)
		}
		w.must(w.s.EndExec(w.ctx, capOf(l), out.Exec.ID, "word", hub.ExecEnd{Status: hub.ExecExited}))

		w.clock.advance(hub.ExecKept + time.Second)
		w.must(w.s.Sweep(w.ctx))
		_, err = w.s.WaitExec(w.ctx, w.ann, dispatch.WaitExecRequest{JobID: l.JobID, ExecID: out.Exec.ID})
		w.wantCode(err, hub.NotFound)
		_, err = w.bucket.Get(w.ctx, "execs/"+out.Exec.ID+"/out.00000000000000000000")
		w.wantCode(err, hub.NotFound)
	})
}

// Everybody hears at once that the job has failed, and how, though it ends only when the hold does.
func TestAHeldJobIsKnownToHaveFailed(t *testing.T) {
	onStores(t, func(b backend) {
		w := newWorld(b, longLeases())
		w.run(w.s)
		m := w.machine(self(w.ann))
		job := w.submit(specText(heldSpec))
		l := m.take()
		m.begin(l)
		first, err := w.s.Wait(w.ctx, w.ann, dispatch.WaitRequest{JobID: job.ID, Cursor: "start"})
		w.must(err)
		end := beside(func() (dispatch.WaitResult, error) {
			return w.s.Wait(w.ctx, w.ann, dispatch.WaitRequest{JobID: job.ID, Cursor: first.NextCursor, Wait: time.Minute, UntilEnd: true})
		})
		_, err = m.hold(l, 0)
		w.must(err)
		got, err := get(w, end)
		w.must(err)
		if got.Done || got.Job.Held == nil || *got.Job.Held.ExitCode != 3 || got.Job.Failure.Message != "it broke" {
			t.Fatalf("the waiter hears %+v", got.Job)
		}
		e, err := w.s.Explain(w.ctx, w.ann, job.ID)
		w.must(err)
		if !strings.Contains(e.Summary, "it broke") || !strings.Contains(e.Summary, "5m0s") {
			t.Errorf("explained as %q", e.Summary)
		}
		_, err = w.s.EndHold(w.ctx, w.ann, job.ID)
		w.must(err)
		beat, err := m.hold(l, 0)
		w.must(err)
		if len(beat.Orders) != 1 || beat.Orders[0].Kind != hub.ExecRelease {
			t.Errorf("the runner is told %+v", beat.Orders)
		}
		m.settle(failure(l, hub.ClassScript))
		w.wantState(job.ID, hub.JobFailed)
	})
}
