package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/hub/storetest"
)

func TestAJobFromSubmitToItsEnd(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann))
		job := w.submit()

		l := m.take()
		if l.JobID != job.ID || l.Proof.Attempt != 1 || l.TTL != time.Minute || l.Timeout != time.Hour ||
			l.Deadline != time.Hour+30*time.Second || l.FirstHeartbeat != 15*time.Second || len(l.Spec) == 0 {
			t.Errorf("lease %+v", l)
		}
		w.wantState(job.ID, hub.JobLeased)
		m.begin(l)
		if j := w.wantState(job.ID, hub.JobRunning); j.Phase != "running" || j.Step != "test" {
			t.Errorf("phase %q, step %q", j.Phase, j.Step)
		}
		if got := m.settle(success(l)); got != (dispatch.SettleResult{Accepted: true}) {
			t.Errorf("settled: %+v", got)
		}
		v, err := w.s.Get(w.ctx, w.ann, job.ID)
		w.must(err)
		if v.Job.State != hub.JobSucceeded || v.RunnerID != m.p.Runner.ID || v.RunnerLabel != m.p.Runner.Label || v.Target != "self" ||
			v.Workspace != w.ws.Slug || len(v.Attempts) != 1 || string(v.Result) != `{"status":"succeeded","exit_code":0}` || len(v.Payload.Spec) == 0 {
			t.Errorf("view %+v", v)
		}
		m.none()
	})
}

func TestTheSameRequestGetsTheSameLease(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann))
		w.submit()
		w.submit()
		id := newRequest()
		first, err := m.leaseAs(id, 0)
		w.must(err)
		// The response was lost, and another hub gets the repeat.
		m.s = w.hub(t.open())
		again, err := m.leaseAs(id, 0)
		w.must(err)
		if diff := cmp.Diff(first.Lease, again.Lease); diff != "" {
			t.Errorf("another lease: %s", diff)
		}
		if other := m.take(); other.JobID == first.Lease.JobID {
			t.Error("another request got the same job")
		}
		m.begin(first.Lease)
		m.settle(success(first.Lease))
		if r, err := m.leaseAs(id, 0); err != nil || r.Lease != nil {
			t.Errorf("after its end: %+v, %v", r.Lease, err)
		}
	})
}

func TestARepeatWithAnotherTokenGetsNothing(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann))
		w.submit()
		id := newRequest()
		if r, err := m.leaseAs(id, 0); err != nil || r.Lease == nil {
			t.Fatal(r, err)
		}
		m.p.Secret = hub.Secret("of another token")
		if r, err := m.leaseAs(id, 0); err != nil || r.Lease != nil {
			t.Errorf("got %+v, %v", r.Lease, err)
		}
	})
}

func TestARepeatedRequestSupersedesTheHeldOne(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann))
		id := newRequest()
		pool := hub.NewQueueKey(self(w.ann), "")
		old := beside(func() (dispatch.LeaseResult, error) { return m.leaseAs(id, time.Hour) })
		w.held(w.s, pool, 1)
		again := beside(func() (dispatch.LeaseResult, error) { return m.leaseAs(id, time.Hour) })
		_, err := get(w, old)
		w.wantCode(err, hub.Conflict)
		job := w.submit()
		if r, err := get(w, again); err != nil || r.Lease == nil || r.Lease.JobID != job.ID {
			t.Errorf("the repeat got %+v, %v", r, err)
		}
	})
}

// slowStore lets a call that looks for a runner's leases last until its context ends, once.
type slowStore struct {
	hub.Store
	entered chan struct{}
	once    sync.Once
}

func (s *slowStore) LiveOfRunner(ctx context.Context, id string) ([]hub.Job, error) {
	var err error
	s.once.Do(func() {
		close(s.entered)
		<-ctx.Done()
		err = fmt.Errorf("store: list leases: %w", context.Cause(ctx))
	})
	if err != nil {
		return nil, err
	}
	return s.Store.LiveOfRunner(ctx, id)
}

func TestARequestSupersededInTheStoreIsAConflict(t *testing.T) {
	onStores(t, func(t backend) {
		slow := &slowStore{entered: make(chan struct{})}
		w := newWorld(t, withStore(func(s hub.Store) hub.Store { slow.Store = s; return slow }))
		m := w.machine(self(w.ann))
		job := w.submit()
		id := newRequest()
		old := beside(func() (dispatch.LeaseResult, error) { return m.leaseAs(id, 0) })
		<-slow.entered
		if r, err := m.leaseAs(id, 0); err != nil || r.Lease == nil || r.Lease.JobID != job.ID {
			t.Errorf("the repeat got %+v, %v", r, err)
		}
		_, err := get(w, old)
		w.wantCode(err, hub.Conflict)
	})
}

func TestAHeldLeaseIsWoken(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann))
		held := beside(func() (dispatch.LeaseResult, error) { return m.lease(time.Hour) })
		w.held(w.s, hub.NewQueueKey(self(w.ann), ""), 1)
		job := w.submit()
		if r, err := get(w, held); err != nil || r.Lease == nil || r.Lease.JobID != job.ID {
			t.Errorf("got %+v, %v", r, err)
		}
	})
}

func TestAHeldLeaseEndsWithItsWait(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann))
		if r, err := m.lease(10 * time.Millisecond); err != nil || r.Lease != nil || r.HubID == "" {
			t.Errorf("got %+v, %v", r, err)
		}
		ctx, cancel := context.WithCancel(w.ctx)
		m.ctx = ctx
		held := beside(func() (dispatch.LeaseResult, error) { return m.lease(time.Hour) })
		w.held(w.s, hub.NewQueueKey(self(w.ann), ""), 1)
		cancel()
		if _, err := get(w, held); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestADrainAnswersHeldCallsAtOnce(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t, longLeases())
		m, busy := w.machine(self(w.ann)), w.machine(self(w.ann))
		job := w.submit()
		l := busy.take()
		busy.begin(l)
		lease := beside(func() (dispatch.LeaseResult, error) { return m.lease(time.Hour) })
		beat := beside(func() (dispatch.HeartbeatResult, error) { return busy.beat(l, time.Hour) })
		wait := beside(func() (dispatch.WaitResult, error) {
			return w.s.Wait(w.ctx, w.ann, dispatch.WaitRequest{JobID: job.ID, Wait: time.Hour, UntilEnd: true})
		})
		w.held(w.s, hub.NewQueueKey(self(w.ann), ""), 1)
		w.until("both are held", func() bool { return w.s.Watching(job.ID) == 2 })
		w.s.Drain()
		w.s.Drain()
		_, err := get(w, lease)
		if e := w.wantCode(err, hub.Draining); !e.Retryable {
			t.Errorf("not retryable: %+v", e)
		}
		_, err = get(w, beat)
		w.wantCode(err, hub.Draining)
		_, err = get(w, wait)
		w.wantCode(err, hub.Draining)
		// What is not held goes on: runners report.
		busy.begin(l)
		busy.settle(success(l))
	})
}

func TestLeaseChecksItsCaller(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann))
		w.submit()
		_, err := w.s.Lease(w.ctx, w.ann, dispatch.LeaseRequest{RequestID: "r"})
		w.wantCode(err, hub.PermissionDenied)
		for _, id := range []string{"", "a b", "a\x00", string(make([]byte, 65))} {
			_, err = m.leaseAs(id, 0)
			w.wantCode(err, hub.InvalidArgument)
		}
		m.presence.Protocol = 0
		r, err := m.lease(time.Minute)
		w.must(err)
		if r.Lease != nil || len(r.Directives) != 1 || r.Directives[0] != dispatch.DirectiveUpdateRequired {
			t.Errorf("an old protocol got %+v", r)
		}
		m.presence = presence()
		m.presence.Draining = true
		r, err = m.lease(time.Minute)
		w.must(err)
		if r.Lease != nil {
			t.Error("a draining runner got a job")
		}
		m.presence.Draining = false
		m.presence.Protocol = 99 // newer than the hub: served
		m.take()
		m.p.Runner.RevokedAt = w.clock.now()
		_, err = m.lease(0)
		w.wantCode(err, hub.Unauthenticated)
	})
}

func TestAnUnpairedRunnerIsTold(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann))
		l := func() *dispatch.Lease { w.submit(); return m.take() }()
		m.begin(l)
		mine := w.submit(target(m.p.Runner.ID))
		m.take()
		idle := beside(func() (dispatch.LeaseResult, error) { return m.lease(time.Hour) })
		w.held(w.s, hub.NewQueueKey(self(w.ann), ""), 1)
		r, err := w.store.RevokeRunner(w.ctx, m.p.Runner.ID, w.clock.now(), storetest.NewEvent(hub.ActRunnerRevoked))
		w.must(err)
		w.s.RunnerRevoked(w.ctx, r)
		got, err := get(w, idle)
		w.must(err)
		if got.Lease != nil || len(got.Directives) != 1 || got.Directives[0] != dispatch.DirectiveUnpaired {
			t.Errorf("got %+v", got)
		}
		w.wantState(l.JobID, hub.JobQueued) // a pool's job goes to another runner
		if j := w.wantState(mine.ID, hub.JobFailed); j.Failure.Class != hub.ClassRunnerLost {
			t.Errorf("failure %+v", j.Failure)
		}
		b, err := m.beat(l, 0)
		if err != nil || b.State != dispatch.HeartbeatStale {
			t.Errorf("its heartbeat got %+v, %v", b, err)
		}
	})
}

func TestNamedQueuesComeFirstAndReject(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann))
		pool := w.submit()
		gpu := w.submit(target(m.p.Runner.ID), specText("image: busybox\nrequires: [gpu]\n"))
		named := w.submit(target(m.p.Runner.Label))
		skipped := w.submit(specText("image: busybox\nrequires: [gpu]\n"))
		if l := m.take(); l.JobID != named.ID {
			t.Errorf("got %s before the named job %s", l.JobID, named.ID)
		}
		if j := w.wantState(gpu.ID, hub.JobRejected); j.Failure.Class != hub.ClassCapabilityMissing {
			t.Errorf("failure %+v", j.Failure)
		}
		if l := m.take(); l.JobID != pool.ID {
			t.Errorf("got %s, want %s", l.JobID, pool.ID)
		}
		m.none()
		w.wantState(skipped.ID, hub.JobQueued)
	})
}

func TestANamedJobThatDoesNotFitWakesItsRunnerToRejectIt(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann))
		held := beside(func() (dispatch.LeaseResult, error) { return m.lease(time.Hour) })
		w.held(w.s, hub.NewQueueKey(self(w.ann), m.p.Runner.ID), 1)
		r, err := w.s.Submit(w.ctx, w.ann, request(target(m.p.Runner.ID), specText("image: busybox\nrequires: [gpu]\n"),
			func(r *dispatch.SubmitRequest) { r.Wait = time.Hour }))
		w.must(err)
		if r.Job.Job.State != hub.JobRejected {
			t.Errorf("the job is %s", r.Job.Job.State)
		}
		w.submit()
		if r, err := get(w, held); err != nil || r.Lease == nil {
			t.Errorf("the runner waits no more: %+v, %v", r, err)
		}
	})
}

func TestPriorityThenFirstInFirstOut(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann))
		prio := func(n int) func(*dispatch.SubmitRequest) { return func(r *dispatch.SubmitRequest) { r.Priority = n } }
		low, first, second, high := w.submit(prio(-1)), w.submit(), w.submit(), w.submit(prio(1))
		again := m.take()
		if again.JobID != high.ID {
			t.Errorf("the highest priority is not first")
		}
		peer := w.submit(prio(1))
		w.must(w.s.Release(w.ctx, m.p, dispatch.ReleaseRequest{JobID: again.JobID, Proof: again.Proof}))
		var got []string
		for range 5 {
			got = append(got, m.take().JobID)
		}
		if diff := cmp.Diff([]string{high.ID, peer.ID, first.ID, second.ID, low.ID}, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestRunnersServeTheirOwnerAlone(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		personal, shared := w.machine(self(w.ann)), w.machine(hub.WorkspaceOwner(w.ws.ID))
		bob := w.person(w.ws)
		stranger := w.machine(self(bob))
		mine, ours := w.submit(), w.submit(target("workspace"))
		stranger.none()
		if l := shared.take(); l.JobID != ours.ID {
			t.Errorf("the workspace's runner got %s", l.JobID)
		}
		if l := personal.take(); l.JobID != mine.ID {
			t.Errorf("the personal runner got %s", l.JobID)
		}
	})
}
