package dispatch

import (
	"slices"
	"sync"

	"github.com/runnerhub/runnerhub/hub"
)

// waiters are the held lease calls of this hub. One arriving job wakes one of
// them: a suitable one of the runner whose last job is the longest ago, so that an owner's
// runners take turns. A waiter that leaves without taking what it was woken for passes the wake on.
type waiters struct {
	mu       sync.Mutex
	byKey    map[hub.QueueKey][]*waiter
	count    int64            // grows with every waiter and every lease
	turn     map[string]int64 // runner → count at its last lease
	reserved map[string]bool  // jobs that a call of this hub is about to take
	capped   map[capKey]bool
	empty    empties
	shelves  shelves
}

// capKey is an owner whose runners are at a cap, or with a workspace the share of that one.
type capKey struct {
	owner       hub.Owner
	workspaceID string
}

// waiter is one held lease call. All but ch is guarded by waiters.mu.
type waiter struct {
	runner  hub.Runner
	keys    []hub.QueueKey // its own queue, then the pool
	since   int64
	woken   []arrival // not looked at yet
	looking []arrival // being looked at
	idle    bool      // it has looked and found nothing
	ch      chan struct{}

	// For a job that is handed to it as it is stored. The first two are set before it looks.
	caller    hub.Principal
	requestID string
	claimed   bool   // somebody is about to say whether it has the job
	lease     *Lease // it has
	unsure    bool   // it may have: the write's outcome is not known
}

// wake lets the call look; one that is awake already stays so.
func (w *waiter) wake() {
	select {
	case w.ch <- struct{}{}:
	default:
	}
}

// arrival is a job that somebody should take, with what placement needs.
type arrival struct {
	key    hub.QueueKey
	jobID  string
	demand hub.Demand
	job    hub.QueuedJob // as it is known: whoever is woken need not read it
	shared bool          // workspaces may share its queue: whoever is woken looks whose turn it is
}

func arrivalOf(q hub.QueuedJob) arrival {
	return arrival{q.Job.QueueKey(), q.Job.ID, demandOf(q.Payload), q, false}
}

// suits says whether waking r for the job makes sense. On a named queue it
// always does: a runner that lacks something rejects the job.
func (a arrival) suits(r hub.Runner) bool {
	if _, named := a.key.Split(); named != "" {
		return true
	}
	return r.Suits(a.demand)
}

func newWaiters() *waiters {
	return &waiters{
		byKey: map[hub.QueueKey][]*waiter{}, turn: map[string]int64{},
		reserved: map[string]bool{}, capped: map[capKey]bool{}, empty: newEmpties(), shelves: newShelves(),
	}
}

// add registers a call. It must be there before the call first looks, so that a
// job that arrives meanwhile is seen by the look or wakes the waiter.
func (ws *waiters) add(r hub.Runner) *waiter {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.count++
	w := &waiter{
		runner: r, since: ws.count, ch: make(chan struct{}, 1),
		keys: []hub.QueueKey{hub.NewQueueKey(r.Owner, r.ID), hub.NewQueueKey(r.Owner, "")},
	}
	for _, k := range w.keys {
		ws.byKey[k] = append(ws.byKey[k], w)
	}
	return w
}

// look starts a look at the queues: what the waiter was woken for, which is returned, is being dealt with.
func (ws *waiters) look(w *waiter) []arrival {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w.looking = append(w.looking, w.woken...)
	w.woken, w.idle = nil, false
	select {
	case <-w.ch:
	default:
	}
	return slices.Clone(w.looking)
}

// looked ends a look that found nothing: what the waiter was woken for is gone
// or in other hands, and whoever has it passes it on if need be.
func (ws *waiters) looked(w *waiter) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w.looking, w.idle = nil, true
}

// leave ends a call that took a job, or none (""), and returns what it was
// woken for besides: the caller passes that on.
func (ws *waiters) leave(w *waiter, took string) []arrival {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, k := range w.keys {
		rest := slices.DeleteFunc(ws.byKey[k], func(x *waiter) bool { return x == w })
		if len(rest) == 0 {
			delete(ws.byKey, k)
		} else {
			ws.byKey[k] = rest
		}
	}
	if took != "" {
		ws.count++
		ws.turn[w.runner.ID] = ws.count
	}
	left := slices.Concat(w.looking, w.woken)
	w.looking, w.woken = nil, nil
	return slices.DeleteFunc(left, func(a arrival) bool { return a.jobID == took })
}

// offer wakes one suitable waiter that is not awake yet; false when there is none.
func (ws *waiters) offer(a arrival) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.shelves.came(a.job)
	w := ws.best(a, func(*waiter) bool { return true })
	if w == nil {
		ws.empty.stir(a.key)
		return false
	}
	w.woken = append(w.woken, a)
	w.wake()
	return true
}

// best is whose turn a job is, of the calls that are free for it and of which ok holds; nil for none.
func (ws *waiters) best(a arrival, ok func(*waiter) bool) *waiter {
	var best *waiter
	for _, w := range ws.byKey[a.key] {
		if w.free() && ok(w) && a.suits(w.runner) && (best == nil || ws.before(w, best)) {
			best = w
		}
	}
	return best
}

// free says whether the call has nothing to look at yet.
func (w *waiter) free() bool { return len(w.woken) == 0 && !w.claimed && w.lease == nil }

// before says whose turn it is: the runner whose last lease is the longest ago,
// and of one runner's calls the oldest.
func (ws *waiters) before(a, b *waiter) bool {
	if x, y := ws.turn[a.runner.ID], ws.turn[b.runner.ID]; x != y {
		return x < y
	}
	return a.since < b.since
}

// asleep says whether a waiter of the queue could still be woken.
func (ws *waiters) asleep(k hub.QueueKey) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return slices.ContainsFunc(ws.byKey[k], (*waiter).free)
}

// keys lists the queues that somebody waits at.
func (ws *waiters) keys() []hub.QueueKey {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	out := make([]hub.QueueKey, 0, len(ws.byKey))
	for k := range ws.byKey {
		out = append(out, k)
	}
	return out
}

// reserve keeps the calls of this hub from all going for the same job; false
// when another call has it.
func (ws *waiters) reserve(jobID string) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.reserved[jobID] {
		return false
	}
	ws.reserved[jobID] = true
	return true
}

func (ws *waiters) unreserve(jobID string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	delete(ws.reserved, jobID)
}

func (ws *waiters) isReserved(jobID string) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.reserved[jobID]
}

// atCap notes that a lease was refused over a running cap.
func (ws *waiters) atCap(k capKey) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.capped[k] = true
}

func (ws *waiters) isCapped(k capKey) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.capped[k]
}

// freed says, when there is room again under a cap that held jobs like j, which queues should be looked at again.
func (ws *waiters) freed(j hub.Job) []hub.QueueKey {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	all, share := capKey{owner: j.Owner}, capKey{j.Owner, j.WorkspaceID}
	if !ws.capped[all] && !ws.capped[share] {
		return nil
	}
	delete(ws.capped, all)
	delete(ws.capped, share)
	var out []hub.QueueKey
	for k := range ws.byKey {
		if owner, _ := k.Split(); owner == j.Owner {
			out = append(out, k)
		}
	}
	return out
}

// forget drops the turns of runners that keep does not know any more.
func (ws *waiters) forget(keep func(runnerID string) bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for id := range ws.turn {
		if !keep(id) {
			delete(ws.turn, id)
		}
	}
}
