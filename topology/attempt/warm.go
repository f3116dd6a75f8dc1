package attempt

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// leaveTimeout is how long a job waits for a set that another one is just leaving: it is
// there when that one's containers are gone from its network.
const leaveTimeout = 5 * time.Second

// leastWarm is how many sets may be idle on a runner of few slots.
const leastWarm = 4

// warmth keeps sets of services for later jobs of the same owner. It holds no more than
// a few at a time and none for long; the one that nobody has wanted for longest goes first.
type warmth struct {
	opts  Options
	pool  *pool
	limit int
	add   func(removal)

	mu      sync.Mutex
	idle    []*warmSet      // the one that was used last comes last
	tags    map[string]bool // of all sets, idle or not
	leaving map[warmKey]int
	changed chan struct{} // closed when a set has become idle, or gone
	closed  bool
	makers  sync.WaitGroup // of sets that begin was called for
	wg      sync.WaitGroup
}

func newWarmth(opts Options, p *pool, add func(removal)) *warmth {
	return &warmth{
		opts: opts, pool: p, add: add, limit: max(leastWarm, opts.ReadyNetworks),
		tags: map[string]bool{}, leaving: map[warmKey]int{}, changed: make(chan struct{}),
	}
}

// take returns an idle set, or nil when there is none.
func (w *warmth) take(ctx context.Context, key warmKey) *warmSet {
	limit := time.NewTimer(leaveTimeout)
	defer limit.Stop()
	for {
		set, changed := w.look(key)
		if set != nil || changed == nil {
			return set
		}
		select {
		case <-changed:
		case <-limit.C:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// look takes an idle set. Without one, changed is closed when it is worth another look, and
// nil when it will not be.
func (w *warmth) look(key warmKey) (set *warmSet, changed <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, s := range slices.Backward(w.idle) {
		if s.key == key {
			w.drop(i)
			return s, nil
		}
	}
	if w.leaving[key] == 0 || w.closed {
		return nil, nil
	}
	return nil, w.changed
}

// drop takes the i-th set out of the idle ones; w.mu is held.
func (w *warmth) drop(i int) {
	w.idle[i].timer.Stop()
	w.idle = slices.Delete(w.idle, i, i+1)
}

// hold keeps a set from being swept, from before there is anything of it.
func (w *warmth) hold(s *warmSet) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tags[s.tag] = true
}

// held lists the tags of all sets, idle or not.
func (w *warmth) held() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Keys(w.tags))
}

// leave tells that a set is about to become idle: it does with put.
func (w *warmth) leave(key warmKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.leaving[key]++
}

// begin tells that a set is about to be made for whoever comes; put or fail ends that, and
// makers hears of it. It is false when there is one already, or nothing is kept any more.
func (w *warmth) begin(key warmKey) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.leaving[key] > 0 || slices.ContainsFunc(w.idle, func(s *warmSet) bool { return s.key == key }) {
		return false
	}
	w.leaving[key]++
	w.makers.Add(1)
	return true
}

// fail tells that nothing came of begin.
func (w *warmth) fail(key warmKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.arrive(key)
}

// arrive ends what leave or begin began; w.mu is held.
func (w *warmth) arrive(key warmKey) {
	if w.leaving[key]--; w.leaving[key] == 0 {
		delete(w.leaving, key)
	}
	close(w.changed)
	w.changed = make(chan struct{})
}

// put makes a set idle that leave or begin was called for. fresh says that it was not before.
func (w *warmth) put(s *warmSet, fresh bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.arrive(s.key)
	if fresh {
		w.watch(s)
	}
	if w.closed || s.life.Err() != nil {
		w.remove(s, "the runner ends")
		return
	}
	s.timer = time.AfterFunc(w.opts.WarmFor, func() { w.expire(s, "nobody has wanted them for "+w.opts.WarmFor.String()) })
	w.idle = append(w.idle, s)
	w.bound(s.pod())
}

// bound removes the oldest of the pods, or of the sets of services, where there are too
// many; w.mu is held.
func (w *warmth) bound(pods bool) {
	most, n, oldest := w.limit, 0, -1
	if pods {
		most = 1
	}
	for i, s := range slices.Backward(w.idle) {
		if s.pod() == pods {
			n, oldest = n+1, i
		}
	}
	if n > most {
		s := w.idle[oldest]
		w.drop(oldest)
		w.remove(s, "there are too many")
	}
}

// watch has a set end when a member of it does; w.mu is held.
func (w *warmth) watch(s *warmSet) {
	for name, m := range s.members {
		w.wg.Go(func() {
			_, err := m.process.Wait(s.life)
			if s.life.Err() == nil {
				w.opts.Logger.Debug("a service that may stay has ended", "service", name, "error", err)
				s.end()
				w.expire(s, "the service "+name+" has ended")
			}
		})
	}
}

// expire removes a set if it is idle.
func (w *warmth) expire(s *warmSet, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.Index(w.idle, s); i >= 0 {
		w.drop(i)
		w.remove(s, why)
	}
}

// remove has a set removed that nobody has; w.mu is held.
func (w *warmth) remove(s *warmSet, why string) {
	if !s.pod() {
		w.opts.Logger.Info("services that stayed between jobs are removed", "set", s.tag, "cause", why)
	}
	w.pool.adopt(s.key.hub, s.key.runner, s.internal, s.network)
	w.add(removal{
		id: topology.Identity{Hub: s.key.hub, Runner: s.key.runner}, known: s.known, all: true,
		filters: []topology.Filter{s.filter()}, ready: s.network, internal: s.internal, done: func() { w.forget(s) },
	})
	s.end()
	w.wg.Go(s.close)
}

// discard has a set removed that take returned.
func (w *warmth) discard(s *warmSet, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.remove(s, why)
}

// forget ends a set whose containers are gone.
func (w *warmth) forget(s *warmSet) {
	s.end()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.tags, s.tag)
}

// close stops listening to the members.
func (s *warmSet) close() {
	for _, m := range s.members {
		if m.process != nil {
			m.process.Close()
		}
	}
}

// close has all sets removed, those too that are still to become idle.
func (w *warmth) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for len(w.idle) > 0 {
		s := w.idle[0]
		w.drop(0)
		w.remove(s, "the runner ends")
	}
}

// wait waits for what watched the sets.
func (w *warmth) wait() { w.wg.Wait() }
