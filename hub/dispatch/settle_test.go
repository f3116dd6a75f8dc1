package dispatch_test

import (
	"strings"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
)

func TestTheFirstReportWins(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann))
		w.submit()
		l := m.take()
		m.begin(l)
		m.settle(success(l))
		if got := m.settle(success(l)); got != (dispatch.SettleResult{Accepted: true, Duplicate: true}) {
			t.Errorf("the same report again: %+v", got)
		}
		_, err := m.s.Settle(w.ctx, m.p, failure(l, hub.ClassScript))
		w.wantCode(err, hub.AlreadySettled)
		bad := success(l)
		bad.Proof.Nonce = "lse_guessed"
		_, err = m.s.Settle(w.ctx, m.p, bad)
		w.wantCode(err, hub.StaleLease)
		w.wantState(l.JobID, hub.JobSucceeded)
	})
}

func TestAReportNeedsItsLease(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann))
		w.submit()
		l := m.take()
		for name, p := range map[string]hub.Proof{
			"attempt": {Attempt: 2, Epoch: l.Proof.Epoch, Nonce: l.Proof.Nonce},
			"epoch":   {Attempt: 1, Epoch: l.Proof.Epoch + 1, Nonce: l.Proof.Nonce},
			"nonce":   {Attempt: 1, Epoch: l.Proof.Epoch, Nonce: "lse_guessed"},
		} {
			r := success(l)
			r.Proof = p
			if _, err := m.s.Settle(w.ctx, m.p, r); hub.CodeOf(err) != hub.StaleLease {
				t.Errorf("wrong %s: %v", name, err)
			}
			b, err := m.beat(&dispatch.Lease{JobID: l.JobID, Proof: p}, 0)
			if err != nil || b.State != dispatch.HeartbeatStale {
				t.Errorf("a heartbeat with the wrong %s: %+v, %v", name, b, err)
			}
			if err := m.s.Release(w.ctx, m.p, dispatch.ReleaseRequest{JobID: l.JobID, Proof: p}); hub.CodeOf(err) != hub.StaleLease {
				t.Errorf("a release with the wrong %s: %v", name, err)
			}
		}
		stranger := w.machine(self(w.person(w.ws)))
		_, err := stranger.s.Settle(w.ctx, stranger.p, success(l))
		w.wantCode(err, hub.NotFound)
		_, err = stranger.beat(l, 0)
		w.wantCode(err, hub.NotFound)
		w.wantCode(stranger.s.Release(w.ctx, stranger.p, dispatch.ReleaseRequest{JobID: l.JobID, Proof: l.Proof}), hub.NotFound)
		// The right nonce in the hands of another runner of the same owner.
		sibling := w.machine(self(w.ann))
		_, err = sibling.s.Settle(w.ctx, sibling.p, success(l))
		w.wantCode(err, hub.StaleLease)
		if b, err := sibling.beat(l, 0); err != nil || b.State != dispatch.HeartbeatStale {
			t.Errorf("%+v, %v", b, err)
		}
		for _, id := range []string{"job_none", "", "a\x00b"} {
			_, err = m.s.Settle(w.ctx, m.p, dispatch.SettleRequest{JobID: id, State: hub.JobSucceeded})
			w.wantCode(err, hub.NotFound)
		}
	})
}

func TestReportsAreChecked(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann))
		w.submit()
		l := m.take()
		m.begin(l)
		for name, tt := range map[string]struct {
			edit func(*dispatch.SettleRequest)
			want hub.Code
		}{
			"unknown class": {func(r *dispatch.SettleRequest) {
				r.State, r.Failure = hub.JobFailed, &hub.Failure{Class: "weather", Message: "m"}
			}, hub.InvalidArgument},
			"no message":      {func(r *dispatch.SettleRequest) { r.State, r.Failure = hub.JobFailed, &hub.Failure{Class: hub.ClassOOM} }, hub.InvalidArgument},
			"no failure":      {func(r *dispatch.SettleRequest) { r.State = hub.JobFailed }, hub.InvalidArgument},
			"unknown status":  {func(r *dispatch.SettleRequest) { r.State = "done" }, hub.InvalidArgument},
			"large result":    {func(r *dispatch.SettleRequest) { r.Result = make([]byte, w.policy.MaxResultBytes+1) }, hub.TooLarge},
			"large outputs":   {func(r *dispatch.SettleRequest) { r.Outputs = map[string]string{"k": strings.Repeat("x", 64<<10)} }, hub.TooLarge},
			"success, failed": {func(r *dispatch.SettleRequest) { r.Failure = &hub.Failure{Class: hub.ClassOOM, Message: "m"} }, hub.InvalidArgument},
		} {
			r := success(l)
			tt.edit(&r)
			if _, err := m.s.Settle(w.ctx, m.p, r); hub.CodeOf(err) != tt.want {
				t.Errorf("%s: %v, want %s", name, err, tt.want)
			}
		}
		w.wantState(l.JobID, hub.JobRunning)
		// Whatever bytes a message has, the report is kept and the row's part is bounded.
		r := failure(l, hub.ClassScript)
		r.Failure.Message = strings.Repeat("\xff\x00é", 5000)
		m.settle(r)
		if j := w.wantState(l.JobID, hub.JobFailed); len(j.Failure.Message) > 5000 || !strings.Contains(j.Failure.Message, "bytes more") {
			t.Errorf("the row keeps %d bytes", len(j.Failure.Message))
		}
	})
}

func TestInfrastructureFailuresRunAgain(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann))
		job := w.submit()
		for n := 1; n <= 3; n++ {
			l := m.take()
			m.begin(l)
			got := m.settle(failure(l, hub.ClassImagePull))
			if got.Requeued != (n < 3) || l.Proof.Attempt != n {
				t.Errorf("attempt %d: %+v", l.Proof.Attempt, got)
			}
			again := m.settle(failure(l, hub.ClassImagePull))
			if !again.Duplicate || again.Requeued != (n < 3) {
				t.Errorf("attempt %d again: %+v", n, again)
			}
		}
		if j := w.wantState(job.ID, hub.JobFailed); j.Failure.Class != hub.ClassImagePull || j.Losses != 3 {
			t.Errorf("%+v", j)
		}
	})
}

func TestTimedOutAndCanceledReportsNeedNoFailure(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann))
		for state, class := range map[hub.JobState]hub.Class{hub.JobTimedOut: hub.ClassTimeout, hub.JobCanceled: hub.ClassCanceled} {
			job := w.submit()
			l := m.take()
			m.begin(l)
			r := success(l)
			r.State = state
			m.settle(r)
			if j := w.wantState(job.ID, state); j.Failure == nil || j.Failure.Class != class {
				t.Errorf("%s: %+v", state, j.Failure)
			}
		}
	})
}

func TestReleaseCostsNothingAndWakesAnother(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		a, b := w.machine(self(w.ann)), w.machine(self(w.ann))
		job := w.submit()
		l := a.take()
		a.begin(l)
		c := w.call(b)
		give := dispatch.ReleaseRequest{JobID: l.JobID, Proof: l.Proof, Reason: "the lid was closed"}
		w.must(a.s.Release(w.ctx, a.p, give))
		got, err := get(w, c.ch)
		w.must(err)
		if got.Lease == nil || got.Lease.JobID != job.ID || got.Lease.Proof.Attempt != 2 || got.Lease.Proof.Epoch <= l.Proof.Epoch {
			t.Errorf("got %+v", got.Lease)
		}
		if j := w.job(job.ID); j.Losses != 0 {
			t.Errorf("it cost %d attempts", j.Losses)
		}
		w.must(a.s.Release(w.ctx, a.p, give)) // the answer was lost
		_, err = a.s.Settle(w.ctx, a.p, success(l))
		w.wantCode(err, hub.StaleLease)
		b.begin(got.Lease)
	})
}

func TestCancelInEveryState(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t, longLeases())
		m := w.machine(self(w.ann))
		cancel := func(id string) (dispatch.JobView, error) { return w.s.Cancel(w.ctx, w.ann, id, "not needed") }

		queued := w.submit()
		v, err := cancel(queued.ID)
		if err != nil || v.Job.State != hub.JobCanceled || v.Job.Failure.Message != "not needed" {
			t.Errorf("queued: %+v, %v", v.Job, err)
		}
		if v, err = cancel(queued.ID); err != nil || v.Job.State != hub.JobCanceled {
			t.Errorf("twice: %+v, %v", v.Job, err)
		}
		m.none()

		leased := w.submit()
		l := m.take()
		if v, err = cancel(leased.ID); err != nil || v.Job.State != hub.JobLeased || v.Job.CancelRequestedAt.IsZero() {
			t.Errorf("leased: %+v, %v", v.Job, err)
		}
		b, err := m.beat(l, time.Minute)
		if err != nil || b.State != dispatch.HeartbeatCancel || b.Reason != "not needed" || b.Grace != 10*time.Second {
			t.Errorf("its first heartbeat: %+v, %v", b, err)
		}
		r := success(l)
		r.State = hub.JobCanceled
		m.settle(r)
		w.wantState(leased.ID, hub.JobCanceled)

		running := w.submit()
		l = m.take()
		m.begin(l)
		held := beside(func() (dispatch.HeartbeatResult, error) { return m.beat(l, time.Hour) })
		w.until("the heartbeat is held", func() bool { return w.s.Watching(running.ID) == 1 })
		if v, err = cancel(running.ID); err != nil || v.Job.State != hub.JobRunning {
			t.Errorf("running: %+v, %v", v.Job, err)
		}
		if b, err := get(w, held); err != nil || b.State != dispatch.HeartbeatCancel {
			t.Errorf("the held heartbeat: %+v, %v", b, err)
		}
		if _, err = cancel(running.ID); err != nil {
			t.Errorf("twice: %v", err)
		}
		// The runner never reports: the hub does, at grace and margin.
		w.clock.advance(39 * time.Second)
		w.must(w.s.Sweep(w.ctx))
		w.wantState(running.ID, hub.JobRunning)
		w.clock.advance(2 * time.Second)
		w.must(w.s.Sweep(w.ctx))
		w.wantState(running.ID, hub.JobCanceled)
		_, err = m.s.Settle(w.ctx, m.p, success(l))
		w.wantCode(err, hub.StaleLease)

		done := w.submit()
		l = m.take()
		m.begin(l)
		m.settle(success(l))
		_, err = cancel(done.ID)
		w.wantCode(err, hub.AlreadySettled)
		_, err = w.s.Cancel(w.ctx, w.ann, done.ID, strings.Repeat("x", 201))
		w.wantCode(err, hub.InvalidArgument)
	})
}

func TestACancelReachesARunnerOfAnotherHub(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(t backend) {
		w := newWorld(t, longLeases())
		other := w.hub(t.open())
		w.run(w.s)
		w.run(other)
		m := w.machine(self(w.ann))
		m.s = other
		job := w.submit()
		l := m.take()
		m.begin(l)
		held := beside(func() (dispatch.HeartbeatResult, error) { return m.beat(l, time.Hour) })
		w.until("the heartbeat is held", func() bool { return other.Watching(job.ID) == 1 })
		_, err := w.s.Cancel(w.ctx, w.ann, job.ID, "")
		w.must(err)
		if b, err := get(w, held); err != nil || b.State != dispatch.HeartbeatCancel {
			t.Errorf("got %+v, %v", b, err)
		}
	})
}
