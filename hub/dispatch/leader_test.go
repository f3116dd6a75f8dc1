package dispatch_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
)

// sweeping counts how often a hub begins to look at all live jobs, and can stand still as a frozen hub does.
type sweeping struct {
	hub.Store
	sweeps atomic.Int64
	mu     sync.Mutex // held while the hub is frozen
	frozen bool
	thaw   chan struct{}
}

func (s *sweeping) freeze() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen, s.thaw = true, make(chan struct{})
}

// melt lets everything go on that stood still.
func (s *sweeping) melt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frozen {
		s.frozen = false
		close(s.thaw)
	}
}

func (s *sweeping) stand() {
	s.mu.Lock()
	frozen, thaw := s.frozen, s.thaw
	s.mu.Unlock()
	if frozen {
		<-thaw
	}
}

func (s *sweeping) Now(ctx context.Context) (time.Time, error) {
	s.stand()
	return s.Store.Now(ctx)
}

func (s *sweeping) Lead(ctx context.Context, task, holder string, now, until time.Time) (bool, error) {
	s.stand()
	return s.Store.Lead(ctx, task, holder, now, until)
}

func (s *sweeping) ListLive(ctx context.Context, after string, limit int) ([]hub.LiveJob, error) {
	s.stand()
	s.sweeps.Add(1)
	return s.Store.ListLive(ctx, after, limit)
}

func often() option {
	return withPolicy(func(p *hub.Policy) { p.Sweep = 5 * time.Millisecond })
}

// sweepers runs two hubs on one database.
func sweepers(w *world, t backend) (stores [2]*sweeping, hubs [2]*dispatch.Service) {
	w.Helper()
	for i := range hubs {
		stores[i] = &sweeping{Store: t.open()}
		hubs[i] = w.hub(stores[i], often())
		w.run(hubs[i])
		w.Cleanup(stores[i].melt)
		if i == 0 {
			w.until("the first hub leads", hubs[0].Leads)
		}
	}
	return stores, hubs
}

func TestOneHubSweepsAndAnotherFollows(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann))
		stores, hubs := sweepers(w, t)
		before := stores[0].sweeps.Load()
		w.until("the leader sweeps on", func() bool { return stores[0].sweeps.Load() > before+20 })
		if n := stores[1].sweeps.Load(); n != 0 || hubs[1].Leads() {
			t.Fatalf("the other hub has swept %d times", n)
		}
		// The leader is frozen, and its runner with it.
		job := w.submit()
		m.s = hubs[1]
		m.begin(m.take())
		stores[0].freeze()
		w.clock.advance(w.policy.LeaseTTL) // the lease runs out, and so has the lead by then
		w.until("the other hub sweeps within one TTL", func() bool { return w.job(job.ID).State == hub.JobQueued })
		w.until("the other hub leads", hubs[1].Leads) // a call of the store that was slow may have interrupted that
		if hubs[0].Leads() {
			t.Error("the wrong hub leads")
		}
		// Back to life it finds that it leads no more.
		stores[0].melt()
		before, after := stores[0].sweeps.Load(), stores[1].sweeps.Load()
		w.until("the new leader sweeps on", func() bool { return stores[1].sweeps.Load() > after+20 })
		if n := stores[0].sweeps.Load() - before; n > 1 { // the one that it was in
			t.Errorf("the old leader has swept %d times more", n)
		}
	})
}

func TestALeaderThatStopsResigns(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(t backend) {
		w := newWorld(t)
		first, second := w.hub(w.store, often()), w.hub(t.open(), often())
		ctx, stop := context.WithCancel(w.ctx)
		done := make(chan error, 1)
		go func() { done <- first.Run(ctx) }()
		w.until("the first hub leads", first.Leads)
		w.run(second)
		stop()
		w.must(<-done)
		w.until("the second hub leads, though no time has passed", second.Leads)
	})
}

// While the store is away a leader goes on for as long as it was given, and no longer.
func TestALeadRunsOutWhereTheStoreCannotBeAsked(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		stores := &sweeping{Store: w.store}
		s := w.hub(stores, often())
		w.run(s)
		w.Cleanup(stores.melt)
		w.until("the hub leads", s.Leads)
		stores.freeze()
		w.clock.advance(w.policy.LeaseTTL)
		if s.Leads() {
			t.Error("it leads for longer than it was given")
		}
		stores.melt()
		w.until("it leads again", s.Leads)
	})
}
