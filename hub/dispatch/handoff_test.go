package dispatch_test

import (
	"context"
	"errors"
	"testing"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
)

// handing is a store that can fail or wait around an Enqueue.
type handing struct {
	hub.Store
	before func(hub.EnqueueParams)
	after  func() error // what the caller hears instead, though it is stored
}

func (h *handing) Enqueue(ctx context.Context, p hub.EnqueueParams) (hub.Job, bool, error) {
	if h.before != nil {
		h.before(p)
	}
	j, existing, err := h.Store.Enqueue(ctx, p)
	if h.after != nil && err == nil {
		return hub.Job{}, false, h.after()
	}
	return j, existing, err
}

func newHanding(t backend) (*world, *handing) {
	t.Helper()
	h := &handing{}
	return newWorld(t, withStore(func(s hub.Store) hub.Store { h.Store = s; return h })), h
}

func TestAJobIsStoredWithTheLeaseOfACallThatWaits(t *testing.T) {
	onStores(t, func(t backend) {
		w, h := newHanding(t)
		var handed []bool
		h.before = func(p hub.EnqueueParams) { handed = append(handed, p.Handoff != nil) }
		m := w.machine(self(w.ann))
		c := w.call(m)
		job := w.submit()
		if job.State != hub.JobLeased || job.LeaseRunnerID != m.p.Runner.ID {
			t.Errorf("the job is %s, with %q", job.State, job.LeaseRunnerID)
		}
		got, err := get(w, c.ch)
		w.must(err)
		if got.Lease == nil || got.Lease.JobID != job.ID {
			t.Fatalf("%+v", got.Lease)
		}
		if w.submit().State != hub.JobQueued { // nobody waits any more
			t.Error("the second job is leased")
		}
		m.begin(got.Lease)
		m.settle(success(got.Lease))
		if len(handed) != 2 || !handed[0] || handed[1] {
			t.Errorf("handed over: %v", handed)
		}
	})
}

// Whatever ends the wait while the job is being stored, the job is the call's if the call is still there.
func TestACallThatEndsWhileAJobIsHandedOver(t *testing.T) {
	for name, c := range map[string]struct {
		end     func(w *world, cancel context.CancelFunc)
		attempt int // with which the job is held at last
	}{
		"the hub drains":    {func(w *world, _ context.CancelFunc) { w.s.Drain() }, 1},
		"the caller leaves": {func(_ *world, cancel context.CancelFunc) { cancel() }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(t backend) {
				w, h := newHanding(t)
				m, other := w.machine(self(w.ann)), w.machine(self(w.ann))
				ctx, cancel := context.WithCancel(w.ctx)
				defer cancel()
				m.ctx = ctx
				waiting := w.call(m)
				h.before = func(hub.EnqueueParams) {
					h.before = nil
					c.end(w, cancel)
				}
				job := w.submit()
				got, err := get(w, waiting.ch)
				if c.attempt == 1 {
					w.must(err)
					if got.Lease == nil || got.Lease.JobID != job.ID {
						t.Fatalf("%+v", got.Lease)
					}
					return
				}
				if !errors.Is(err, context.Canceled) {
					t.Errorf("got %v", err)
				}
				if l := other.take(); l.JobID != job.ID || l.Proof.Attempt != c.attempt || w.job(job.ID).Losses != 0 {
					t.Errorf("%+v", l)
				}
			})
		})
	}
}

// The answer to the write is lost: who submits is told so, and the call that waits finds its lease all the same.
func TestAHandoffWhoseOutcomeIsNotKnown(t *testing.T) {
	onStores(t, func(t backend) {
		w, h := newHanding(t)
		m := w.machine(self(w.ann))
		c := w.call(m)
		h.after = func() error { h.after = nil; return gone() }
		_, err := w.s.Submit(w.ctx, w.ann, request())
		w.wantCode(err, hub.Unavailable)
		got, err := get(w, c.ch)
		w.must(err)
		if got.Lease == nil {
			t.Fatal("the lease is lost")
		}
		m.begin(got.Lease)
	})
}

func TestAJobThatIsRefusedItsRunnerIsQueued(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t, withPolicy(func(p *hub.Policy) { p.MaxRunning = 1 }))
		m := w.machine(self(w.ann))
		w.submit()
		l := m.take()
		c := w.call(m)
		job := w.submit()
		if job.State != hub.JobQueued {
			t.Errorf("the job is %s", job.State)
		}
		m.begin(l)
		m.settle(success(l))
		w.run(w.s)
		got, err := get(w, c.ch)
		w.must(err)
		if got.Lease == nil || got.Lease.JobID != job.ID {
			t.Errorf("%+v", got.Lease)
		}
	})
}

// The same key twice is one job, for whose sake one call is claimed and let go of again.
func TestARepeatedSubmitHandsNothingOver(t *testing.T) {
	onStores(t, func(t backend) {
		w, _ := newHanding(t)
		m := w.machine(self(w.ann))
		withKey := func(r *dispatch.SubmitRequest) { r.IdempotencyKey = "k" }
		job := w.submit(withKey)
		l := m.take()
		c := w.call(m)
		if again := w.submit(withKey); again.ID != job.ID || l.JobID != job.ID {
			t.Errorf("%s, %s and %s", job.ID, again.ID, l.JobID)
		}
		next := w.submit()
		got, err := get(w, c.ch)
		w.must(err)
		if got.Lease == nil || got.Lease.JobID != next.ID {
			t.Errorf("%+v", got.Lease)
		}
	})
}
