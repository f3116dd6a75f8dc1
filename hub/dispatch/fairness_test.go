package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
)

// A call is a held lease of a machine.
type call struct {
	m  *machine
	ch <-chan answer[dispatch.LeaseResult]
}

func (w *world) call(m *machine) call {
	w.Helper()
	k := hub.NewQueueKey(m.p.Runner.Owner, "")
	n := m.s.Waiting(k)
	c := call{m, beside(func() (dispatch.LeaseResult, error) { return m.lease(time.Hour) })}
	w.held(m.s, k, n+1)
	return c
}

// answered returns the one call that has got a job.
func (w *world) answered(calls []call) (int, *dispatch.Lease) {
	w.Helper()
	got, lease := -1, (*dispatch.Lease)(nil)
	w.until("a call is answered", func() bool {
		for i, c := range calls {
			select {
			case a := <-c.ch:
				w.must(a.err)
				got, lease = i, a.v.Lease
				return true
			default:
			}
		}
		return false
	})
	if lease == nil {
		w.Fatalf("call %d got no job", got)
	}
	return got, lease
}

func TestOneJobWakesOneWaiterInTurn(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		pool := hub.NewQueueKey(self(w.ann), "")
		var calls []call
		for range 3 {
			calls = append(calls, w.call(w.machine(self(w.ann))))
		}
		turns := ""
		for range 6 {
			w.submit()
			i, _ := w.answered(calls)
			turns += fmt.Sprint(i)
			w.held(w.s, pool, 2) // nobody else woke for good
			calls[i] = w.call(calls[i].m)
		}
		if turns != "012012" {
			t.Errorf("the runners took turns as %s", turns)
		}
		w.s.Drain()
		for _, c := range calls {
			_, err := get(w, c.ch)
			w.wantCode(err, hub.Draining)
		}
	})
}

func TestARunnerThatAsksAgainKeepsItsTurn(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		a, b := w.machine(self(w.ann)), w.machine(self(w.ann))
		w.submit()
		a.take()
		// b had no job yet, though a's call is the older one.
		calls := []call{w.call(a), w.call(b)}
		w.submit()
		if i, _ := w.answered(calls); i != 1 {
			t.Errorf("the runner that had a job got the next one too")
		}
		w.s.Drain()
		_, err := get(w, calls[0].ch)
		w.wantCode(err, hub.Draining)
	})
}

func TestOnlyACapableWaiterIsWoken(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		plain, gpu := w.machine(self(w.ann)), w.machine(self(w.ann))
		gpu.presence.Capabilities = append(gpu.presence.Capabilities, "gpu")
		calls := []call{w.call(plain), w.call(gpu)}
		job := w.submit(specText("image: busybox\nrequires: [gpu]\n"))
		i, l := w.answered(calls)
		if i != 1 || l.JobID != job.ID {
			t.Errorf("call %d got %s", i, l.JobID)
		}
		w.s.Drain()
		_, err := get(w, calls[0].ch)
		w.wantCode(err, hub.Draining)
	})
}

func TestAJobBehindManyThatFitNobodyIsFound(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		for range 120 {
			w.submit(specText("image: busybox\nrequires: [gpu]\n"))
		}
		job := w.submit()
		if l := w.machine(self(w.ann)).take(); l.JobID != job.ID {
			t.Errorf("got %s", l.JobID)
		}
	})
}

func TestAFloodOfOneOwnerDoesNotHoldUpAnother(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		bob := w.person(w.ws)
		for range 100 {
			w.submit()
		}
		m := w.machine(self(bob))
		c := w.call(m)
		r, err := w.s.Submit(w.ctx, bob, request())
		w.must(err)
		if got, err := get(w, c.ch); err != nil || got.Lease == nil || got.Lease.JobID != r.Job.Job.ID {
			t.Errorf("bob's runner got %+v, %v", got, err)
		}
	})
}

func TestTheRunningCapKeepsJobsQueued(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t, withPolicy(func(p *hub.Policy) { p.MaxRunning = 1 }))
		w.run(w.s)
		a, b := w.machine(self(w.ann)), w.machine(self(w.ann))
		w.submit()
		l := a.take()
		a.begin(l)
		second := w.submit()
		c := w.call(b)
		e, err := w.s.Explain(w.ctx, w.ann, second.ID)
		w.must(err)
		if want := "The job waits at place 1 of its queue: its owner already runs 1 job, the most that it may (max_running)."; e.Summary != want {
			t.Errorf("summary %q", e.Summary)
		}
		// Another owner is not concerned.
		bob := w.person(w.ws)
		if _, err := w.s.Submit(w.ctx, bob, request()); err != nil {
			t.Fatal(err)
		}
		w.machine(self(bob)).take()
		// Room wakes the waiter.
		a.settle(success(l))
		if got, err := get(w, c.ch); err != nil || got.Lease == nil || got.Lease.JobID != second.ID {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

func TestRoomWakesAsManyAsItHolds(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t, withPolicy(func(p *hub.Policy) { p.MaxRunning = 2 }))
		w.run(w.s)
		busy := w.machine(self(w.ann))
		var held []*dispatch.Lease
		for range 2 {
			w.submit()
			held = append(held, busy.take())
		}
		calls := []call{w.call(w.machine(self(w.ann))), w.call(w.machine(self(w.ann)))}
		for range 2 {
			w.submit()
		}
		for _, l := range held {
			busy.begin(l)
			busy.settle(success(l))
		}
		for _, c := range calls {
			if got, err := get(w, c.ch); err != nil || got.Lease == nil {
				t.Errorf("got %+v, %v", got, err)
			}
		}
	})
}

func TestARunnerHoldsSoManyCallsAndNoMore(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann))
		ctx, cancel := context.WithCancel(w.ctx)
		defer cancel()
		m.ctx = ctx
		var calls []<-chan answer[dispatch.LeaseResult]
		for range dispatch.MaxHeld {
			calls = append(calls, beside(func() (dispatch.LeaseResult, error) { return m.lease(time.Hour) }))
		}
		w.held(w.s, hub.NewQueueKey(self(w.ann), ""), dispatch.MaxHeld)
		_, err := m.lease(0)
		if e := w.wantCode(err, hub.RateLimited); !e.Retryable {
			t.Errorf("%+v", e)
		}
		cancel()
		for _, c := range calls {
			if _, err := get(w, c); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		}
		m.ctx = w.ctx
		m.none()
	})
}

func TestPollersOfOneHubDoNotAllGoForTheHead(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		const n = 12
		jobs := map[string]bool{}
		for range n {
			jobs[w.submit().ID] = true
		}
		var calls []call
		for range n {
			m := w.machine(self(w.ann))
			calls = append(calls, call{m, beside(func() (dispatch.LeaseResult, error) { return m.lease(0) })})
		}
		for _, c := range calls {
			r, err := get(w, c.ch)
			w.must(err)
			if r.Lease == nil {
				t.Fatal("a poller got nothing though there was a job for each")
			}
			delete(jobs, r.Lease.JobID)
		}
		if len(jobs) > 0 {
			t.Errorf("%d jobs were given twice", len(jobs))
		}
	})
}

func TestTwoHubsShareTheirQueues(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		other := w.hub(t.open())
		const n = 20
		for range n {
			w.submit()
		}
		var calls []call
		for i := range n {
			m := w.machine(self(w.ann))
			if i%2 == 0 {
				m.s = other
			}
			calls = append(calls, call{m, beside(func() (dispatch.LeaseResult, error) { return m.lease(0) })})
		}
		seen := map[string]bool{}
		for _, c := range calls {
			r, err := get(w, c.ch)
			w.must(err)
			if r.Lease == nil || seen[r.Lease.JobID] {
				t.Fatalf("got %+v", r.Lease)
			}
			seen[r.Lease.JobID] = true
		}
	})
}
