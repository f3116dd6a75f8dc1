package dispatch

import "github.com/runnerhub/runnerhub/hub"

// maxEmpties bounds what is remembered of queues; over it all is forgotten, and looked at again.
const maxEmpties = 10_000

// empties are the queues that were found empty and in which, as far as this hub has heard, nothing has come to lie
// since, so that a call which begins need not look. Whether it has heard everything is no matter of
// correctness: hints that get lost are made up for by the backup poll, which finds its waiter. Guarded by waiters.mu.
type empties struct {
	empty   map[hub.QueueKey]bool
	stirred map[hub.QueueKey]int64 // what happened to a queue last
	count   int64                  // of everything that happened
	lost    int64                  // what happened before is forgotten
}

func newEmpties() empties {
	return empties{empty: map[hub.QueueKey]bool{}, stirred: map[hub.QueueKey]int64{}}
}

// stir notes that a job may lie in a queue, with nobody about to take it.
func (e *empties) stir(k hub.QueueKey) {
	if len(e.stirred) >= maxEmpties {
		e.stirAll()
	}
	e.count++
	e.stirred[k] = e.count
	delete(e.empty, k)
}

// stirAll does so for every queue.
func (e *empties) stirAll() {
	e.count++
	e.lost = e.count
	clear(e.stirred)
	clear(e.empty)
}

// found notes that a look which began at a count found nothing in a queue.
func (e *empties) found(k hub.QueueKey, began int64) {
	if e.lost <= began && e.stirred[k] <= began && len(e.empty) < maxEmpties {
		e.empty[k] = true
	}
}

// knownEmpty says whether a waiter has nothing to look for.
func (ws *waiters) knownEmpty(w *waiter) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, k := range w.keys {
		if !ws.empty.empty[k] {
			return false
		}
	}
	return len(w.woken) == 0
}

// isEmpty says whether a queue is one of those.
func (ws *waiters) isEmpty(k hub.QueueKey) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.empty.empty[k]
}

// beginLook and foundEmpty enclose a look at a queue.
func (ws *waiters) beginLook() int64 {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.empty.count
}

func (ws *waiters) foundEmpty(k hub.QueueKey, began int64) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.empty.found(k, began)
}

// stir notes that jobs may lie in a queue; in any for "".
func (ws *waiters) stir(k hub.QueueKey) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.shelves.drop(k)
	if k == "" {
		ws.empty.stirAll()
		return
	}
	ws.empty.stir(k)
}
