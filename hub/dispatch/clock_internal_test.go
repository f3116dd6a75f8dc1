package dispatch

import (
	"testing"
	"testing/synctest"
	"time"
)

// After the store was out of reach, or the hub itself was not there, runners have time to be heard again.
func TestTheStoreHasBeenInReachSince(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		between func(c *clock)
		want    time.Duration
	}{
		"the sweeps go on":          {func(c *clock) { answers(c, 60, time.Second) }, 2 * time.Minute},
		"a sweep takes a while":     {func(c *clock) { answers(c, 2, 30*time.Second) }, 2 * time.Minute},
		"the hub stands still":      {func(c *clock) { answers(c, 1, time.Minute) }, 0},
		"the store does not answer": {func(c *clock) { c.lostReach(); answers(c, 60, time.Second) }, 59 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				clock := newClock(nil, 30*time.Second)
				answers(clock, 60, time.Second)
				c.between(clock)
				if got := clock.reachable(); got != c.want {
					t.Errorf("in reach for %s, want %s", got, c.want)
				}
			})
		})
	}
}

// answers has the store answer so many times, so far apart.
func answers(c *clock, n int, apart time.Duration) {
	for range n {
		time.Sleep(apart) //nolint:forbidigo // the fake clock's
		now := time.Now()
		c.seen(now, now, now)
	}
}
