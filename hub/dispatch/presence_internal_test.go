package dispatch

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// roster keeps presence as a store does, and counts the rows that are written.
type roster struct {
	hints
	mu   sync.Mutex
	rows map[string]hub.Presence
	n    map[string]int
}

func (r *roster) SavePresence(_ context.Context, p map[string]hub.Presence) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, x := range p {
		if !x.SeenAt.Before(r.rows[id].SeenAt) {
			r.rows[id] = x
			r.n[id]++
		}
	}
	return nil
}

func (r *roster) runner(id string) hub.Runner {
	r.mu.Lock()
	defer r.mu.Unlock()
	return hub.Runner{ID: id, Owner: owner, Presence: r.rows[id]}
}

// written is how many rows were written of a runner.
func (r *roster) written(id string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n[id]
}

// hubsOn runs some services on one roster under the fake clock.
func hubsOn(t *testing.T, n int, f func(r *roster, hubs []*Service)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &roster{rows: map[string]hub.Presence{}, n: map[string]int{}}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		hubs := make([]*Service, n)
		for i := range hubs {
			hubs[i] = New(Config{Store: r, Policy: hub.DefaultPolicy()})
			wg.Go(func() { _ = hubs[i].Run(ctx) })
		}
		synctest.Wait()
		f(r, hubs)
		cancel()
		wg.Wait()
	})
}

// pass lets fake time pass.
func pass(d time.Duration) { <-time.After(d) }

// Many runners poll every second, each now at one hub and now at another. That costs one row every ten seconds, and
// once a runner has gone silent every hub knows to the second when that was.
func TestManyPollsFewWrites(t *testing.T) {
	t.Parallel()
	hubsOn(t, 3, func(r *roster, hubs []*Service) {
		const runners, seconds = 100, 600
		id := func(i int) string { return fmt.Sprintf("rnr-%d", i) }
		for s := range seconds {
			for i := range runners {
				h := hubs[(s+i)%len(hubs)]
				h.presence.polled(r.runner(id(i)), hub.Presence{Slots: 1, Protocol: 1, SeenAt: h.Now()})
			}
			pass(time.Second)
		}
		last := hubs[0].Now().Add(-time.Second)
		sum := 0
		for i := range runners {
			n := r.written(id(i))
			sum += n
			if n > seconds/10+1 {
				t.Errorf("the presence of %s was written %d times in %d s", id(i), n, seconds)
			}
		}
		t.Logf("%d rows were written for %d polls", sum, runners*seconds)
		pass(hub.DefaultPolicy().PresenceWrite + 2*urgentGap)
		for i := range runners {
			if d := last.Sub(r.runner(id(i)).Presence.SeenAt); d > 2*time.Second {
				t.Errorf("%s is taken to be silent %s too early", id(i), d)
			}
		}
	})
}

// A runner that changes its mind at every poll costs no more than two rows a second, and the last word is stored.
func TestAFickleRunnerIsWrittenSeldom(t *testing.T) {
	t.Parallel()
	hubsOn(t, 2, func(r *roster, hubs []*Service) {
		const polls = 1000
		for i := range polls {
			h := hubs[i%len(hubs)]
			h.presence.polled(r.runner("a"), hub.Presence{Slots: 1, StatusText: fmt.Sprint(i), SeenAt: h.Now()})
			pass(10 * time.Millisecond)
		}
		if n := r.written("a"); n > polls/100*2*2 {
			t.Errorf("%d rows in %d s", n, polls/100)
		}
		pass(2 * urgentGap)
		if got := r.runner("a").Presence.StatusText; got != fmt.Sprint(polls-1) {
			t.Errorf("the last word that is stored is %s", got)
		}
	})
}
