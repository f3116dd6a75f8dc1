package dispatch_test

import (
	"context"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/hub/storetest"
)

func (w *world) sweep() {
	w.Helper()
	w.must(w.s.Sweep(w.ctx))
}

func TestALostAttemptRunsAgainAndItsHolderIsStale(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		dead, other := w.machine(self(w.ann)), w.machine(self(w.ann))
		job := w.submit()
		l := dead.take()
		dead.begin(l)
		w.clock.advance(59 * time.Second)
		w.sweep()
		w.wantState(job.ID, hub.JobRunning)
		c := w.call(other)
		w.clock.advance(2 * time.Second)
		w.sweep()
		got, err := get(w, c.ch)
		w.must(err)
		if got.Lease == nil || got.Lease.Proof.Attempt != 2 {
			t.Fatalf("the requeued job woke nobody: %+v", got)
		}
		if j := w.job(job.ID); j.Losses != 1 {
			t.Errorf("%d losses", j.Losses)
		}
		b, err := dead.beat(l, time.Minute)
		if err != nil || b.State != dispatch.HeartbeatStale {
			t.Errorf("the late heartbeat: %+v, %v", b, err)
		}
		_, err = dead.s.Settle(w.ctx, dead.p, success(l))
		w.wantCode(err, hub.StaleLease)
		other.begin(got.Lease)
		other.settle(success(got.Lease))
		w.wantState(job.ID, hub.JobSucceeded)
	})
}

func TestAnUnacknowledgedLeaseCostsNothing(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann))
		job := w.submit()
		w.clock.advance(time.Hour) // the store has been in reach for long
		for range 5 {
			m.take()
			w.clock.advance(16 * time.Second)
			w.sweep()
			if j := w.wantState(job.ID, hub.JobQueued); j.Losses != 0 {
				t.Fatalf("%d losses", j.Losses)
			}
		}
	})
}

func TestTheDeadlineEndsAnAttemptThatHeartbeats(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann))
		job := w.submit(specText("image: busybox\ntimeout: 1m\n"))
		l := m.take()
		for range 8 { // until 80 s
			m.begin(l)
			w.clock.advance(10 * time.Second)
			w.sweep()
		}
		m.begin(l)
		w.wantState(job.ID, hub.JobRunning)
		w.clock.advance(10*time.Second + time.Millisecond)
		w.sweep()
		if j := w.wantState(job.ID, hub.JobTimedOut); j.Failure.Class != hub.ClassTimeout || j.Losses != 0 {
			t.Errorf("%+v", j)
		}
		b, err := m.beat(l, 0)
		if err != nil || b.State != dispatch.HeartbeatStale {
			t.Errorf("%+v, %v", b, err)
		}
	})
}

// patchy is a store that can be out of reach.
type patchy struct {
	hub.Store
	down bool
}

func gone() error {
	return &hub.Error{Code: hub.Unavailable, Message: "the store cannot be reached", Retryable: true}
}

func (p *patchy) Now(ctx context.Context) (time.Time, error) {
	if p.down {
		return time.Time{}, gone()
	}
	return p.Store.Now(ctx)
}

func (p *patchy) ListQueued(ctx context.Context, k hub.QueueKey, after *hub.QueuePos, n int) ([]hub.QueuedJob, error) {
	if p.down {
		return nil, gone()
	}
	return p.Store.ListQueued(ctx, k, after, n)
}

func (p *patchy) GetJob(ctx context.Context, id string) (hub.Job, error) {
	if p.down {
		return hub.Job{}, gone()
	}
	return p.Store.GetJob(ctx, id)
}

func (p *patchy) Apply(ctx context.Context, c hub.Change) error {
	if p.down {
		return gone()
	}
	return p.Store.Apply(ctx, c)
}

func TestAfterAnOutageRunnersGetOneTTL(t *testing.T) {
	onStores(t, func(t backend) {
		st := &patchy{}
		w := newWorld(t, withStore(func(s hub.Store) hub.Store { st.Store = s; return st }))
		alive, dead := w.machine(self(w.ann)), w.machine(self(w.ann))
		w.submit()
		w.submit()
		a, d := alive.take(), dead.take()
		alive.begin(a)
		dead.begin(d)
		st.down = true
		w.wantCode(w.s.Sweep(w.ctx), hub.Unavailable)
		_, err := alive.beat(a, 0)
		if e := w.wantCode(err, hub.Unavailable); !e.Retryable {
			t.Errorf("%+v", e)
		}
		_, err = alive.lease(0)
		_ = err // what a lease call says depends on what it reads first; it must not hang or panic
		w.clock.advance(10 * time.Minute)
		st.down = false
		w.sweep()
		w.wantState(a.JobID, hub.JobRunning)
		alive.begin(a) // it kept trying
		w.clock.advance(59 * time.Second)
		alive.begin(a)
		w.sweep()
		w.wantState(d.JobID, hub.JobRunning)
		w.clock.advance(2 * time.Second)
		w.sweep()
		w.wantState(a.JobID, hub.JobRunning)
		w.wantState(d.JobID, hub.JobQueued)
	})
}

func TestAHeldLeaseHearsOfAnOutage(t *testing.T) {
	onStores(t, func(t backend) {
		st := &patchy{}
		w := newWorld(t, withStore(func(s hub.Store) hub.Store { st.Store = s; return st }))
		m := w.machine(self(w.ann))
		st.down = true
		_, err := m.lease(time.Minute)
		w.wantCode(err, hub.Unavailable)
		if n := w.s.Waiting(hub.NewQueueKey(self(w.ann), "")); n != 0 {
			t.Errorf("%d calls still wait", n)
		}
	})
}

func TestAHubThatRestartsLosesNothing(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann))
		running := w.submit().ID
		l := m.take()
		m.begin(l)
		waiting := w.submit()
		// Another process takes over; nothing of the first one's memory is left.
		next := w.hub(t.open())
		w.s, m.s = next, next
		b, err := m.beat(l, 0)
		if err != nil || b.State != dispatch.HeartbeatHeld {
			t.Errorf("%+v, %v", b, err)
		}
		w.sweep()
		w.wantState(running, hub.JobRunning)
		m.settle(success(l))
		if l := m.take(); l.JobID != waiting.ID {
			t.Errorf("got %s", l.JobID)
		}
	})
}

func TestNoRunnerTimeout(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		job := w.submit()
		w.clock.advance(4 * time.Minute)
		w.sweep()
		w.wantState(job.ID, hub.JobQueued)
		w.clock.advance(time.Minute + time.Second)
		w.sweep()
		if j := w.wantState(job.ID, hub.JobRejected); j.Failure.Class != hub.ClassNoRunner {
			t.Errorf("%+v", j.Failure)
		}
		if e, err := w.s.Explain(w.ctx, w.ann, job.ID); err != nil || len(e.Next) == 0 {
			t.Errorf("%+v, %v", e, err)
		}
	})
}

func TestAJobBehindABusyRunnerIsNotTouched(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann))
		w.submit()
		l := m.take()
		job, gpu := w.submit(), w.submit(specText("image: busybox\nrequires: [gpu]\n"))
		for range 12 {
			w.clock.advance(30 * time.Second)
			m.begin(l) // a busy runner is heard of by its heartbeats alone
			w.sweep()
		}
		w.wantState(job.ID, hub.JobQueued)
		w.wantState(gpu.ID, hub.JobRejected) // online, but not eligible for this one
		// It goes silent: the clock runs from when it was last heard of.
		m.settle(success(l))
		w.clock.advance(4 * time.Minute)
		w.sweep()
		w.wantState(job.ID, hub.JobQueued)
		w.clock.advance(2 * time.Minute)
		w.sweep()
		w.wantState(job.ID, hub.JobRejected)
	})
}

func TestTheQueueOfAnUnpairedRunnerIsRejected(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann))
		job := w.submit(target(m.p.Runner.ID))
		_, err := w.store.RevokeRunner(w.ctx, m.p.Runner.ID, w.clock.now(), storetest.NewEvent(hub.ActRunnerRevoked))
		w.must(err)
		w.sweep() // by another hub, which nobody told
		if j := w.wantState(job.ID, hub.JobRejected); j.Failure.Class != hub.ClassNoRunner {
			t.Errorf("%+v", j.Failure)
		}
		_, err = w.s.Submit(w.ctx, w.ann, request(target(m.p.Runner.ID)))
		w.wantCode(err, hub.NotFound)
	})
}

func TestPresenceIsStoredInBatches(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann))
		m.presence.StatusText = "ready"
		m.none()
		if r := w.s.Fresh(m.p.Runner)[0]; r.Presence.SeenAt.IsZero() || r.Presence.StatusText != "ready" {
			t.Errorf("not even this hub knows: %+v", r.Presence)
		}
		w.run(w.s)
		w.until("the first poll is stored", func() bool {
			r, err := w.store.GetRunner(w.ctx, m.p.Runner.ID)
			w.must(err)
			return r.Presence.StatusText == "ready" && len(r.Presence.Capabilities) == 3
		})
		m.presence.Capabilities = []string{"docker", "made-up"}
		w.clock.advance(time.Second)
		m.none()
		w.until("a change is stored at once", func() bool {
			r, err := w.store.GetRunner(w.ctx, m.p.Runner.ID)
			w.must(err)
			return len(r.Presence.Capabilities) == 1
		})
	})
}
