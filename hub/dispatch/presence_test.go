package dispatch_test

import (
	"strings"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
)

// Two hubs on one database: whatever a runner says to one of them the other knows, before two seconds have passed.
func TestEveryHubKnowsHowARunnerIs(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(t backend) {
		w := newWorld(t)
		other := w.hub(t.open())
		w.run(w.s)
		w.run(other)
		m := w.machine(self(w.ann))
		status := func() hub.RunnerStatus {
			t.Helper()
			r, err := w.store.GetRunner(w.ctx, m.p.Runner.ID)
			w.must(err)
			busy, err := w.store.CountLive(w.ctx, r.Owner)
			w.must(err)
			return other.Fresh(r)[0].Status(w.clock.now(), busy[r.ID], w.policy)
		}
		// knows waits for the other hub, while less than two seconds pass on the clock.
		knows := func(want hub.RunnerStatus) {
			t.Helper()
			end := w.clock.now().Add(1900 * time.Millisecond)
			w.until("the other hub knows that the runner is "+string(want), func() bool {
				if w.clock.now().Before(end) {
					w.clock.advance(10 * time.Millisecond)
				}
				return status() == want
			})
		}
		m.p.Runner = w.stored(m)
		knows(hub.RunnerOffline) // it was paired and has not polled yet
		m.none()
		knows(hub.RunnerOnline)

		job := w.submit()
		l := m.take()
		m.begin(l)
		knows(hub.RunnerBusy)
		m.settle(success(l))
		w.wantState(job.ID, hub.JobSucceeded)
		m.none()
		knows(hub.RunnerOnline)

		m.p.Runner = w.stored(m)
		m.presence.Draining = true
		m.none()
		knows(hub.RunnerDraining)
		m.p.Runner = w.stored(m)
		m.leave()
		knows(hub.RunnerOffline)

		m.p.Runner = w.stored(m)
		m.presence.Draining = false
		m.none()
		knows(hub.RunnerOnline)
		m.presence.Protocol = 0
		m.p.Runner = w.stored(m)
		_, err := m.lease(0)
		w.must(err)
		knows(hub.RunnerUpdateRequired)
	})
}

// A runner that goes silent without a word is stale on every hub when its time has come: no earlier, though what it
// said last was not stored at once, and no later.
func TestEveryHubKnowsWhenARunnerWentSilent(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(t backend) {
		w := newWorld(t)
		other := w.hub(t.open())
		w.run(w.s)
		w.run(other)
		m := w.machine(self(w.ann))
		m.none()
		w.until("the first poll is stored", func() bool { return !w.stored(m).Presence.SeenAt.IsZero() })
		w.clock.advance(7 * time.Second) // too early for a second write
		m.p.Runner = w.stored(m)
		m.none()
		silent := w.s.Now()
		w.clock.advance(w.policy.PresenceWrite)
		w.until("the last poll is stored", func() bool { return w.stored(m).Presence.SeenAt.Equal(silent) })
		status := func() hub.RunnerStatus { return other.Fresh(w.stored(m))[0].Status(w.clock.now(), 0, w.policy) }
		w.clock.advance(silent.Add(w.policy.StaleAfter).Sub(w.clock.now()))
		if s := status(); s != hub.RunnerOnline {
			t.Errorf("the runner is %s too early", s)
		}
		w.clock.advance(2 * time.Second)
		if s := status(); s != hub.RunnerStale {
			t.Errorf("the runner is %s 2 s after its time", s)
		}
	})
}

// What a runner was stopped for is said, and the clock of jobs that wait for one runs from then.
func TestARunnerThatLeftIsOffline(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann), label("box"))
		m.none()
		m.leave()
		w.clock.advance(7 * time.Second)
		job := w.submit()
		e, err := w.s.Explain(w.ctx, w.ann, job.ID)
		w.must(err)
		if len(e.Runners) != 1 || len(e.Runners[0].Reasons) != 1 || !strings.HasPrefix(e.Runners[0].Reasons[0].Message, "box was stopped at ") ||
			!strings.HasSuffix(e.Runners[0].Reasons[0].Message, ", 7s ago") {
			t.Errorf("%+v", e.Runners)
		}
		w.clock.advance(w.policy.NoRunnerTimeout + time.Second)
		w.sweep()
		w.wantState(job.ID, hub.JobRejected)
	})
}

// stored is the machine's runner as its calls would find it.
func (w *world) stored(m *machine) hub.Runner {
	w.Helper()
	r, err := w.store.GetRunner(w.ctx, m.p.Runner.ID)
	w.must(err)
	return r
}

// leave says that the machine's runner ends.
func (m *machine) leave() {
	m.Helper()
	r, err := m.s.Lease(m.ctx, m.p, dispatch.LeaseRequest{RequestID: newRequest(), Presence: m.presence, Leaving: true})
	m.must(err)
	if r.Lease != nil {
		m.Fatalf("a runner that leaves got job %s", r.Lease.JobID)
	}
}
