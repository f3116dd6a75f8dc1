package dispatch_test

import (
	"strings"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
)

const sessionSpec = "kind: session\nimage: busybox\n"

// A session runs for at most an hour unless it says more, is explained by what it waits for, and is ended by who may cancel it.
func TestASessionAtTheHub(t *testing.T) {
	onStores(t, func(b backend) {
		w := newWorld(b)
		m := w.machine(self(w.ann))
		job := w.submit(specText(sessionSpec))
		_, err := w.s.EndHold(w.ctx, w.ann, job.ID)
		w.wantCode(err, hub.Conflict)
		l := m.take()
		if l.Timeout != time.Hour || job.MaxAttempts != 1 {
			t.Errorf("it may take %s, in %d attempts", l.Timeout, job.MaxAttempts)
		}
		m.begin(l)
		explains := func(want string) {
			t.Helper()
			e, err := w.s.Explain(w.ctx, w.ann, job.ID)
			w.must(err)
			if !strings.Contains(e.Summary, want) {
				t.Errorf("explained as %q, want %q", e.Summary, want)
			}
		}
		explains("sets the session up (step test)")
		beat := func(left time.Duration, progress string) dispatch.HeartbeatResult {
			got, err := m.s.Heartbeat(m.ctx, m.p, dispatch.HeartbeatRequest{JobID: l.JobID, Proof: l.Proof, Phase: "running", Progress: progress, IdleLeft: left})
			w.must(err)
			return got
		}
		beat(0, "session: in use")
		explains("keeps the session open (session: in use)")
		beat(7*time.Minute, "session: idle")
		explains("keeps the session open (session: idle, ends at " + w.clock.now().Add(7*time.Minute).UTC().Format(time.RFC3339) + ")")

		_, err = w.s.StartExec(w.ctx, w.ann, command(job.ID, "true"))
		w.must(err)
		_, err = w.s.EndHold(w.ctx, w.person(w.ws), job.ID)
		w.wantCode(err, hub.NotFound)
		_, err = w.s.EndHold(w.ctx, w.ann, job.ID)
		w.must(err)
		if got := beat(0, "session: in use"); len(got.Orders) != 2 || got.Orders[1].Kind != hub.ExecFinish {
			t.Errorf("the runner is told %+v", got.Orders)
		}
		r := success(l)
		r.Note, r.Result = "Somebody has ended it.", []byte(`{"status":"succeeded","exit_code":0,"note":"Somebody has ended it."}`)
		m.settle(r)
		w.wantState(job.ID, hub.JobSucceeded)
		explains("Somebody has ended it.")
		events, err := w.store.ListEvents(w.ctx, job.ID)
		w.must(err)
		if last := events[len(events)-1]; last.Action != hub.ActJobSucceeded || last.Detail["reason"] != r.Note {
			t.Errorf("the last event is %+v", last)
		}
	})
}

// A job that is no session and is not held has nothing to be let go of; a session whose runner is lost is not begun anew.
func TestWhatIsNoSession(t *testing.T) {
	onStores(t, func(b backend) {
		w := newWorld(b)
		m := w.machine(self(w.ann))
		running := w.submit(specText(spec + "exec: true\n"))
		m.begin(m.take())
		_, err := w.s.EndHold(w.ctx, w.ann, running.ID)
		w.wantCode(err, hub.Conflict)

		lost := w.submit(specText(sessionSpec))
		l := m.take()
		m.begin(l)
		m.settle(failure(l, hub.ClassRunnerLost))
		w.wantState(lost.ID, hub.JobFailed)
	})
}
