package attempt

import (
	"sync"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// phaseClock is an observer that measures how long an attempt is busy with each phase.
type phaseClock struct {
	topology.Observer

	mu    sync.Mutex
	now   topology.Phase // "" before the first
	since time.Time
	spent map[topology.Phase]time.Duration
}

func newPhaseClock(obs topology.Observer) *phaseClock {
	return &phaseClock{Observer: obs, spent: map[topology.Phase]time.Duration{}}
}

// Phase passes p on and ends what went on before. A phase that comes again, as with
// every step, goes on.
func (c *phaseClock) Phase(p topology.Phase, step string) {
	c.turn(p)
	c.Observer.Phase(p, step)
}

// during has the time that work takes told apart from the phase that it is a part of.
func (c *phaseClock) during(part topology.Phase, work func() error) error {
	defer c.turn(c.turn(part))
	return work()
}

func (c *phaseClock) turn(to topology.Phase) (from topology.Phase) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if c.now != "" {
		c.spent[c.now] += now.Sub(c.since)
	}
	from, c.now, c.since = c.now, to, now
	return from
}

// stop ends the last phase and returns what each has taken.
func (c *phaseClock) stop() map[topology.Phase]time.Duration {
	c.turn("")
	return c.spent
}
