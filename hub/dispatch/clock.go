package dispatch

import (
	"sync"
	"time"
)

// clock tells the time that leases live by and remembers since when the store
// has been in reach.
type clock struct {
	fixed func() time.Time

	asleep time.Duration // a gap between two answers that is longer than this is an outage, of the hub's own

	mu     sync.Mutex
	offset time.Duration // of the store's clock, ahead of the local one
	reach  time.Time     // local; zero: out of reach
	answer time.Time     // the wall clock when the store answered last
}

func newClock(fixed func() time.Time, asleep time.Duration) *clock {
	c := &clock{fixed: fixed, asleep: asleep}
	c.reach = c.local()
	return c
}

// local is the clock that durations are measured by.
func (c *clock) local() time.Time {
	if c.fixed != nil {
		return c.fixed()
	}
	return time.Now()
}

func (c *clock) now() time.Time {
	t := c.local()
	if c.fixed == nil {
		c.mu.Lock()
		t = t.Add(c.offset)
		c.mu.Unlock()
	}
	// What the store keeps: reading a time back must give the same one.
	return t.UTC().Round(0).Truncate(time.Microsecond)
}

// seen takes the store's time, asked for between two local times.
func (c *clock) seen(store, before, after time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset = store.Sub(before.Add(after.Sub(before) / 2))
	// A hub that was frozen, or whose machine slept, heard nobody meanwhile, which is no fault of the runners. The wall
	// clock goes on then, and the one that durations are measured by may not.
	wall := after.Round(0)
	slept := c.fixed == nil && !c.answer.IsZero() && wall.Sub(c.answer) > c.asleep
	c.answer = wall
	if c.reach.IsZero() || slept {
		c.reach = c.local()
	}
}

// lostReach notes that the store did not answer.
func (c *clock) lostReach() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reach = time.Time{}
}

// reachable says for how long the store has been in reach.
func (c *clock) reachable() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reach.IsZero() {
		return 0
	}
	return c.local().Sub(c.reach)
}
