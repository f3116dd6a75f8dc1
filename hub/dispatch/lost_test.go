package dispatch_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
)

// hooked is a store that calls back around some of its methods.
type hooked struct {
	hub.Store
	mu      sync.Mutex
	stored  func()                 // after Enqueue has committed
	applied func(hub.Change)       // after Apply has committed
	before  func(hub.Change)       // before Apply
	failing func(hub.Change) error // instead of Apply
}

func (h *hooked) hook(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
}

func (h *hooked) Enqueue(ctx context.Context, p hub.EnqueueParams) (hub.Job, bool, error) {
	j, existing, err := h.Store.Enqueue(ctx, p)
	h.mu.Lock()
	f := h.stored
	h.mu.Unlock()
	if f != nil {
		f()
	}
	return j, existing, err
}

func (h *hooked) Apply(ctx context.Context, c hub.Change) error {
	h.mu.Lock()
	before, after, failing := h.before, h.applied, h.failing
	h.mu.Unlock()
	if before != nil {
		before(c)
	}
	if failing != nil {
		if err := failing(c); err != nil {
			return err
		}
	}
	err := h.Store.Apply(ctx, c)
	if err == nil && after != nil {
		after(c)
	}
	return err
}

func newHooked(t backend) (*world, *hooked) {
	t.Helper()
	h := &hooked{}
	return newWorld(t, withStore(func(s hub.Store) hub.Store { h.Store = s; return h })), h
}

func TestALeaseWhoseCallerVanishedIsGivenBack(t *testing.T) {
	onStores(t, func(t backend) {
		w, h := newHooked(t)
		gone, other := w.machine(self(w.ann)), w.machine(self(w.ann))
		ctx, cancel := context.WithCancel(w.ctx)
		gone.ctx = ctx
		h.hook(func() {
			h.applied = func(c hub.Change) {
				if c.NewAttempt != nil && c.NewAttempt.RunnerID == gone.p.Runner.ID {
					cancel() // after the commit and before the answer
				}
			}
		})
		job := w.submit()
		_, err := gone.lease(0)
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		if j := w.wantState(job.ID, hub.JobQueued); j.Losses != 0 {
			t.Errorf("%d losses", j.Losses)
		}
		if l := other.take(); l.JobID != job.ID || l.Proof.Attempt != 2 {
			t.Errorf("%+v", l)
		}
	})
}

func TestAnUndeliveredJobWakesTheNext(t *testing.T) {
	onStores(t, func(t backend) {
		w, h := newHooked(t)
		gone, other := w.machine(self(w.ann)), w.machine(self(w.ann))
		ctx, cancel := context.WithCancel(w.ctx)
		gone.ctx = ctx
		first, second := w.call(gone), w.call(other)
		h.hook(func() {
			h.stored = func() { w.clock.once(cancel) } // woken, and about to decide on the lease
		})
		job := w.submit(inGroup("one")) // which is not handed over as it is stored
		if _, err := get(w, first.ch); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		got, err := get(w, second.ch)
		w.must(err)
		if got.Lease == nil || got.Lease.JobID != job.ID || got.Lease.Proof.Attempt != 1 {
			t.Errorf("%+v", got.Lease)
		}
	})
}

func TestAStoreThatFailsOneCallerLeavesTheJobToTheNext(t *testing.T) {
	onStores(t, func(t backend) {
		w, h := newHooked(t)
		unlucky, other := w.machine(self(w.ann)), w.machine(self(w.ann))
		first, second := w.call(unlucky), w.call(other)
		h.hook(func() {
			h.failing = func(c hub.Change) error {
				if c.NewAttempt != nil && c.NewAttempt.RunnerID == unlucky.p.Runner.ID {
					return gone()
				}
				return nil
			}
		})
		job := w.submit(inGroup("one"))
		_, err := get(w, first.ch)
		w.wantCode(err, hub.Unavailable)
		got, err := get(w, second.ch)
		w.must(err)
		if got.Lease == nil || got.Lease.JobID != job.ID {
			t.Errorf("%+v", got.Lease)
		}
	})
}

func TestWhoLosesARaceReadsAgain(t *testing.T) {
	onStores(t, func(t backend) {
		w, h := newHooked(t)
		m := w.machine(self(w.ann))
		first, second := w.submit(), w.submit()
		// Somebody cancels the head between the look and the lease.
		var once sync.Once
		h.hook(func() {
			h.before = func(c hub.Change) {
				if c.NewAttempt != nil {
					once.Do(func() {
						_, err := w.hub(h.Store).Cancel(w.ctx, w.ann, first.ID, "")
						w.must(err)
					})
				}
			}
		})
		l := m.take()
		if l.JobID != second.ID {
			t.Errorf("got %s", l.JobID)
		}
		m.begin(l)
		// A cancel slips in before the report: the report is decided again, on what is there by then.
		var twice sync.Once
		h.hook(func() {
			h.before = func(c hub.Change) {
				if c.EndAttempt != nil {
					twice.Do(func() {
						_, err := w.hub(h.Store).Cancel(w.ctx, w.ann, second.ID, "")
						w.must(err)
					})
				}
			}
		})
		if got := m.settle(failure(l, hub.ClassImagePull)); got.Requeued {
			t.Error("a canceled job was queued again")
		}
		w.wantState(second.ID, hub.JobCanceled)
		// Without end it is told to come back.
		third := w.submit()
		h.hook(func() {
			h.before = nil
			h.failing = func(hub.Change) error { return hub.ErrConflict }
		})
		_, err := w.s.Cancel(w.ctx, w.ann, third.ID, "")
		if e := w.wantCode(err, hub.Unavailable); !e.Retryable {
			t.Errorf("%+v", e)
		}
	})
}

func TestEventsSayWhoAndForWhom(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(hub.WorkspaceOwner(w.ws.ID))
		job := w.submit(target("workspace"))
		l := m.take()
		m.begin(l)
		m.begin(l)
		w.clock.advance(10 * time.Minute)
		w.sweep()
		l = m.take()
		m.begin(l)
		m.settle(success(l))
		events, err := w.store.ListEvents(w.ctx, job.ID)
		w.must(err)
		ann, rnr := "user:"+w.ann.User.ID, "runner:"+m.p.Runner.ID
		want := []struct {
			action        hub.Action
			actor, behalf string
			attempt       int
		}{
			{hub.ActJobSubmitted, ann, "", 0},
			{hub.ActJobLeased, rnr, ann, 1},
			{hub.ActJobStarted, rnr, ann, 1},
			{hub.ActJobRequeued, "system", ann, 1},
			{hub.ActJobLeased, rnr, ann, 2},
			{hub.ActJobStarted, rnr, ann, 2},
			{hub.ActJobSucceeded, rnr, ann, 2},
		}
		if len(events) != len(want) {
			t.Fatalf("%d events: %+v", len(events), events)
		}
		for i, e := range events {
			x := want[i]
			if e.Action != x.action || e.Actor != x.actor || e.OnBehalfOf != x.behalf || e.Attempt != x.attempt ||
				e.Owner != job.Owner || e.WorkspaceID != w.ws.ID || (x.actor != "system" && e.Address != "127.0.0.1") {
				t.Errorf("event %d: %+v, want %+v", i, e, x)
			}
		}
		attempts, err := w.store.ListAttempts(w.ctx, job.ID)
		w.must(err)
		if len(attempts) != 2 || attempts[0].State != hub.AttemptLost || attempts[1].State != hub.AttemptSucceeded {
			t.Errorf("%+v", attempts)
		}
	})
}

func TestHeartbeatsAreChecked(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann))
		w.submit()
		l := m.take()
		for name, r := range map[string]dispatch.HeartbeatRequest{
			"phase":    {Phase: "sleeping"},
			"step":     {Phase: "running", Step: string(make([]byte, 257))},
			"progress": {Phase: "running", Progress: string(make([]byte, 201))},
		} {
			r.JobID, r.Proof = l.JobID, l.Proof
			if _, err := m.s.Heartbeat(w.ctx, m.p, r); hub.CodeOf(err) != hub.InvalidArgument {
				t.Errorf("%s: %v", name, err)
			}
		}
		r, err := m.s.Heartbeat(w.ctx, m.p, dispatch.HeartbeatRequest{JobID: l.JobID, Proof: l.Proof, Phase: "running", Step: "a\x00\xffb"})
		if err != nil || r.State != dispatch.HeartbeatHeld || r.TTL != time.Minute || r.Deadline > time.Hour+30*time.Second {
			t.Errorf("%+v, %v", r, err)
		}
		_, err = m.s.Heartbeat(w.ctx, w.ann, dispatch.HeartbeatRequest{JobID: l.JobID})
		w.wantCode(err, hub.PermissionDenied)
	})
}
