package dispatch_test

import (
	"strings"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/topology"
)

func inGroup(name string, more ...string) func(*dispatch.SubmitRequest) {
	return specText("image: busybox\nconcurrency:\n  group: " + name + "\n  " + strings.Join(more, "\n  "))
}

const cancelRunning = "cancel_running: true"

func TestOneJobOfAGroupRunsAndTheOthersKeepTheirPlaces(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann))
		first, second, third := w.submit(inGroup("deploy")), w.submit(inGroup("deploy")), w.submit(inGroup("deploy"))
		free, other := w.submit(), w.submit(inGroup("docs"))
		l := m.take()
		if l.JobID != first.ID {
			t.Fatalf("got %s first", l.JobID)
		}
		// Those behind it that are in no group, or in another one, go on.
		for _, want := range []hub.Job{free, other} {
			if got := m.take(); got.JobID != want.ID {
				t.Fatalf("got %s, want %s", got.JobID, want.ID)
			}
		}
		m.none()
		for _, next := range []hub.Job{second, third} {
			m.begin(l)
			m.none()
			m.settle(success(l))
			if l = m.take(); l.JobID != next.ID {
				t.Fatalf("got %s, want %s", l.JobID, next.ID)
			}
		}
	})
}

func TestAGroupThatComesFreeWakesWhoeverCanRunTheNext(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		w.run(w.s)
		busy, idle := w.machine(self(w.ann)), w.machine(self(w.ann), label("named"))
		w.submit(inGroup("deploy"))
		l := busy.take()
		busy.begin(l)
		next := w.submit(inGroup("deploy"), target("named")) // another queue
		c := w.call(idle)
		busy.settle(success(l))
		if got, err := get(w, c.ch); err != nil || got.Lease == nil || got.Lease.JobID != next.ID {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

func TestAGroupIsHeldAcrossHubsAndItsEndWakesAnother(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(t backend) {
		// The net would find the job in the end: here the hint must.
		patient := withPolicy(func(p *hub.Policy) { p.BackupPoll = time.Hour })
		w := newWorld(t, patient)
		other := w.hub(t.open(), patient)
		w.run(w.s)
		w.run(other)
		bob := w.person(w.ws)
		busy, idle := w.machine(self(w.ann)), w.machine(self(bob))
		idle.s = other
		w.submit(inGroup("deploy"))
		l := busy.take()
		busy.begin(l)
		r, err := w.s.Submit(w.ctx, bob, request(inGroup("deploy")))
		w.must(err)
		idle.none()
		c := w.call(idle)
		busy.settle(success(l))
		if got, err := get(w, c.ch); err != nil || got.Lease == nil || got.Lease.JobID != r.Job.Job.ID {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

func TestCancelRunningCancelsTheLiveJobOfTheGroupAndNoOther(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann))
		held, waits, elsewhere := w.submit(inGroup("deploy")), w.submit(inGroup("deploy")), w.submit(inGroup("docs"))
		l := m.take()
		m.begin(l)
		m.begin(m.take()) // elsewhere
		newest := w.submit(inGroup("deploy", cancelRunning))
		j := w.wantState(held.ID, hub.JobRunning)
		if j.CancelRequestedAt.IsZero() || !strings.Contains(j.CancelReason, newest.ID) {
			t.Errorf("the holder was asked to stop at %v: %q", j.CancelRequestedAt, j.CancelReason)
		}
		for _, other := range []hub.Job{waits, elsewhere, newest} {
			if j := w.job(other.ID); !j.CancelRequestedAt.IsZero() {
				t.Errorf("%s was canceled too: %q", other.ID, j.CancelReason)
			}
		}
		m.settle(dispatch.SettleRequest{JobID: l.JobID, Proof: l.Proof, State: hub.JobCanceled, Result: []byte(`{"status":"canceled"}`)})
		if got := m.take(); got.JobID != waits.ID { // it waits its turn like any other
			t.Errorf("got %s", got.JobID)
		}
	})
}

// A hub may end between the two writes of a submit; the runner that comes next makes up for it.
func TestACancelThatWasLostIsMadeUpFor(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann))
		held := w.submit(inGroup("deploy"))
		m.begin(m.take())
		params := w.queuedBehind(held)
		_, _, err := w.store.Enqueue(w.ctx, params)
		w.must(err)
		m.none()
		if j := w.job(held.ID); j.CancelRequestedAt.IsZero() {
			t.Error("the holder goes on")
		}
		m.none() // and once is enough
		if j := w.job(params.Job.ID); j.State != hub.JobQueued {
			t.Errorf("%+v", j)
		}
	})
}

// queuedBehind is a new job that asks for the cancel of another's.
func (w *world) queuedBehind(j hub.Job) hub.EnqueueParams {
	w.Helper()
	payload, err := w.store.GetPayload(w.ctx, j.ID)
	w.must(err)
	j.ID, j.Revision = j.ID+"-2", 1
	j.State, j.Attempt, j.Epoch = hub.JobQueued, 0, 0
	payload.JobID, payload.CancelRunning = j.ID, true
	return hub.EnqueueParams{Job: j, Payload: payload, Event: hub.Event{Time: w.clock.now(), Actor: "system", Action: hub.ActJobSubmitted, JobID: j.ID}}
}

func TestARetryStaysInItsGroupAndTheRunnerHearsNothingOfIt(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann))
		first := w.submit(inGroup("deploy", cancelRunning))
		id := newRequest()
		r, err := m.leaseAs(id, 0)
		w.must(err)
		again, err := m.leaseAs(id, 0)
		w.must(err)
		for _, l := range []*dispatch.Lease{r.Lease, again.Lease} {
			spec, err := topology.Parse(l.Spec)
			if err != nil || spec.Image != "busybox" || spec.Concurrency != (topology.Concurrency{}) {
				t.Errorf("the runner got %s, %v", l.Spec, err)
			}
		}
		v, err := w.s.Get(w.ctx, w.ann, first.ID)
		w.must(err)
		if !strings.Contains(string(v.Payload.Spec), `"concurrency":{"group":"deploy","cancel_running":true}`) {
			t.Errorf("the job has forgotten its group: %s", v.Payload.Spec)
		}
		m.begin(r.Lease)
		m.settle(failure(r.Lease, hub.ClassScript))
		retried, err := w.s.Retry(w.ctx, w.ann, dispatch.RetryRequest{JobID: first.ID})
		w.must(err)
		if j := retried.Job; j.Job.Group != "deploy" || !j.Payload.CancelRunning {
			t.Errorf("the retry is in group %q", j.Job.Group)
		}
	})
}
