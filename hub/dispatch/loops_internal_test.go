package dispatch

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// hints is a store that keeps what it is told, for loops under a fake clock.
type hints struct {
	hub.Store
	mu       sync.Mutex
	sent     [][]hub.Hint
	at       []time.Duration // since the start
	start    time.Time
	slow     time.Duration
	queue    []hub.QueuedJob
	polls    int
	presence map[string]hub.Presence
	writes   int
	panics   int
}

func (h *hints) Notify(_ context.Context, hs []hub.Hint) error {
	h.mu.Lock()
	h.sent, h.at = append(h.sent, hs), append(h.at, time.Since(h.start))
	h.mu.Unlock()
	time.Sleep(h.slow) //nolint:forbidigo // the fake clock's
	return nil
}

func (h *hints) Listen(ctx context.Context, _ func(hub.Hint)) error {
	<-ctx.Done()
	return nil
}

func (h *hints) Lead(context.Context, string, string, time.Time, time.Time) (bool, error) {
	return true, nil
}

func (h *hints) Resign(context.Context, string, string) error { return nil }

func (h *hints) ExpiredExecs(context.Context, time.Time, int) ([]hub.Exec, error) { return nil, nil }

func (h *hints) DeleteKeys(context.Context, time.Time, hub.KeyPos, int) (hub.KeyPos, error) {
	return hub.KeyPos{}, nil
}

func (h *hints) EndedBefore(context.Context, time.Time, string, int) ([]string, string, error) {
	return nil, "", nil
}

func (h *hints) DeleteJobs(context.Context, time.Time, []string) (int, error) { return 0, nil }

func (h *hints) Now(context.Context) (time.Time, error) { return time.Now(), nil }

func (h *hints) QueueKeys(context.Context, time.Time) ([]hub.QueueKey, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.polls++
	if len(h.queue) == 0 {
		return nil, nil
	}
	return []hub.QueueKey{hub.NewQueueKey(owner, "")}, nil
}

func (h *hints) ListQueued(_ context.Context, k hub.QueueKey, _ *hub.QueuePos, _ int) ([]hub.QueuedJob, error) {
	if k != hub.NewQueueKey(owner, "") {
		return nil, nil
	}
	return h.queue, nil
}

func (h *hints) ListLive(context.Context, string, int) ([]hub.LiveJob, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.panics > 0 {
		h.panics--
		panic("a fault in one job's data")
	}
	return nil, nil
}

func (h *hints) SavePresence(_ context.Context, p map[string]hub.Presence) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.writes++
	if h.presence == nil {
		h.presence = map[string]hub.Presence{}
	}
	maps.Copy(h.presence, p)
	return nil
}

func (h *hints) ListRunners(context.Context, hub.Owner, bool, string, int) ([]hub.Runner, error) {
	return []hub.Runner{{ID: "a", Owner: owner, Presence: hub.Presence{SeenAt: time.Now(), Protocol: 1}}}, nil
}

// loops runs a service over h under the fake clock.
func loops(t *testing.T, h *hints, f func(*Service)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h.start = time.Now()
		s := New(Config{Store: h, Policy: hub.DefaultPolicy()})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		synctest.Wait()
		f(s)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestHintsAreGathered(t *testing.T) {
	t.Parallel()
	h := &hints{slow: 10 * time.Millisecond}
	loops(t, h, func(s *Service) {
		s.notify.add(hub.Hint{Queue: "q1"}, true)
		synctest.Wait()
		for _, q := range []hub.QueueKey{"q2", "q3", "q2"} { // while the first is under way
			s.notify.add(hub.Hint{Queue: q}, true)
		}
		time.Sleep(time.Second) //nolint:forbidigo // the fake clock's
		s.notify.add(hub.Hint{JobID: "j1"}, false)
		s.notify.add(hub.Hint{JobID: "j1"}, false)
		time.Sleep(time.Second) //nolint:forbidigo // the fake clock's
		s.notify.add(hub.Hint{JobID: "j2"}, false)
		synctest.Wait()
		s.notify.add(hub.Hint{Queue: "q4"}, true) // takes the other along
		time.Sleep(time.Second)                   //nolint:forbidigo // the fake clock's
	})
	sizes := []int{}
	for _, x := range h.sent {
		sizes = append(sizes, len(x))
	}
	if !slices.Equal(sizes, []int{1, 2, 1, 2}) {
		t.Errorf("notifications of %v hints", sizes)
	}
	ms := []int64{}
	for _, d := range h.at {
		ms = append(ms, d.Milliseconds())
	}
	if !slices.Equal(ms, []int64{0, 10, 1200, 2000}) {
		t.Errorf("sent after %v ms", ms)
	}
}

func TestTheBackupPollWakesWhoMissedAHint(t *testing.T) {
	t.Parallel()
	h := &hints{}
	loops(t, h, func(s *Service) {
		w := s.waiters.add(capable("a"))
		s.waiters.look(w)
		s.waiters.looked(w)
		h.mu.Lock()
		h.queue = []hub.QueuedJob{{Job: hub.Job{ID: "job_1", Owner: owner, State: hub.JobQueued, QueuedAt: time.Now()}}}
		h.mu.Unlock()
		before := time.Now()
		<-w.ch
		if d := time.Since(before); d > 5*time.Second {
			t.Errorf("woken after %s", d)
		}
		s.waiters.leave(w, "job_1")
	})
}

func TestTheBackupPollForgetsThatQueuesWereEmpty(t *testing.T) {
	t.Parallel()
	h := &hints{}
	loops(t, h, func(s *Service) {
		w := s.waiters.add(capable("a"))
		for _, k := range w.keys {
			s.waiters.foundEmpty(k, s.waiters.beginLook())
		}
		s.waiters.leave(w, "") // its runner asks now and then and never waits
		if !s.waiters.knownEmpty(w) {
			t.Error("nothing was remembered")
		}
		before := time.Now()
		for s.waiters.knownEmpty(w) {
			time.Sleep(time.Second) //nolint:forbidigo // the fake clock's
			if d := time.Since(before); d > 6*time.Second {
				t.Errorf("a hint that was lost hides a job for %s", d)
				return
			}
		}
	})
}

func TestAGapInListeningLooksAtEverything(t *testing.T) {
	t.Parallel()
	h := &hints{queue: []hub.QueuedJob{{Job: hub.Job{ID: "job_1", Owner: owner, State: hub.JobQueued, QueuedAt: time.Now().AddDate(100, 0, 0)}}}}
	loops(t, h, func(s *Service) {
		w, x := s.waiters.add(capable("a")), s.watch.add("job_9")
		before := time.Now()
		s.heard(hub.Hint{})
		<-w.ch
		<-x.ch
		if d := time.Since(before); d > 0 {
			t.Errorf("woken after %s", d)
		}
	})
}

func TestIdleHubsAskLittle(t *testing.T) {
	t.Parallel()
	h := &hints{}
	loops(t, h, func(s *Service) {
		for range 100 {
			s.waiters.add(capable("a"))
		}
		time.Sleep(time.Minute) //nolint:forbidigo // the fake clock's
	})
	// One poll every 5 s for all waiters, and two each sweep of the queues every 10 s.
	if h.polls > 12+2*7 {
		t.Errorf("%d queries for the queues in an idle minute", h.polls)
	}
}

func TestPresenceIsWrittenEveryTenSeconds(t *testing.T) {
	t.Parallel()
	h := &hints{}
	loops(t, h, func(s *Service) {
		r := hub.Runner{ID: "a", Owner: owner}
		for range 60 {
			s.presence.polled(r, hub.Presence{Slots: 1, SeenAt: s.Now()})
			time.Sleep(time.Second) //nolint:forbidigo // the fake clock's
		}
	})
	if h.writes < 5 || h.writes > 8 { // the first at once, the last when it ends
		t.Errorf("%d writes in a minute", h.writes)
	}
}

func TestALoopThatPanicsGoesOn(t *testing.T) {
	t.Parallel()
	h := &hints{panics: 2}
	loops(t, h, func(*Service) { time.Sleep(time.Minute) }) //nolint:forbidigo // the fake clock's
	if h.panics != 0 {
		t.Errorf("%d panics are left", h.panics)
	}
}

func TestAHoldEndsAsItShould(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{Policy: hub.DefaultPolicy()})
		start := time.Now()
		after := func(h *hold, want error, d time.Duration) {
			t.Helper()
			if err := h.wait(nil); !errors.Is(err, want) || time.Since(start) != d {
				t.Errorf("%v after %s, want %v after %s", err, time.Since(start), want, d)
			}
			start = time.Now()
		}
		h := s.hold(t.Context(), time.Hour)
		defer h.stop()
		for range 4 {
			after(h, nil, 5*time.Second) // looks again by itself
		}
		h.poll.Stop()
		after(h, errWaited, 5*time.Second) // 25 s, whatever was asked for
		h = s.hold(t.Context(), time.Hour)
		defer h.stop()
		h.within(time.Second)
		after(h, nil, time.Second)
		s.Drain()
		after(h, &hub.Error{Code: hub.Draining}, 0)
	})
}
