package dispatch

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

const (
	// shelfLife bounds how long a better job that another hub stored can be overlooked when its hint was lost, and
	// how long a queue whose jobs other hubs take as well is read for each of its jobs.
	shelfLife = time.Second
	// maxShelf and maxShelves bound the memory: of one queue, and of all. Over the latter all are forgotten.
	maxShelf   = 2 * page
	maxShelves = 256
)

// shelves hold the heads of queues in which jobs wait while all runners work, so that a runner which comes
// for its next job takes one by its id, and the queue is read for a page of jobs and not for each. That counts most where dead
// rows of an old snapshot lie before the head. Nothing is promised on the strength of a shelf: the guarded
// write decides who gets a job, and when a shelf gives nothing the queue is read. Guarded by waiters.mu.
type shelves struct {
	m    map[hub.QueueKey]*shelf
	shun map[hub.QueueKey]time.Time // until then other hubs are known to take from the queue, too
}

// shelf is one queue's head, in order. It is filled while a call reads the queue: what comes and goes meanwhile is noted.
type shelf struct {
	jobs  []hub.QueuedJob
	whole bool // the queue has no others
	until time.Time
	gone  map[string]bool // while it is being filled; nil once it has been
}

func newShelves() shelves {
	return shelves{map[hub.QueueKey]*shelf{}, map[hub.QueueKey]time.Time{}}
}

func posOf(j hub.Job) hub.QueuePos { return hub.QueuePos{Rank: j.Rank, ID: j.ID} }

func comparePos(a, b hub.QueuePos) int {
	return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.ID, b.ID))
}

// put places a job where it belongs.
func (h *shelf) put(q hub.QueuedJob) {
	q.Payload.Spec = nil // is remembered elsewhere, within bounds
	h.jobs = slices.DeleteFunc(h.jobs, func(x hub.QueuedJob) bool { return x.Job.ID == q.Job.ID })
	at, _ := slices.BinarySearchFunc(h.jobs, posOf(q.Job), func(x hub.QueuedJob, p hub.QueuePos) int { return comparePos(posOf(x.Job), p) })
	if h.gone == nil && at == len(h.jobs) && !h.whole {
		return // behind others that nobody has read
	}
	h.jobs = slices.Insert(h.jobs, at, q)
	if len(h.jobs) > maxShelf {
		h.jobs, h.whole = h.jobs[:page], false
	}
}

// came takes note of a job that waits now.
func (x *shelves) came(q hub.QueuedJob) {
	h := x.m[q.Job.QueueKey()]
	switch {
	case h == nil:
	case q.Job.Group != "" || (len(h.jobs) > 0 && h.jobs[0].Job.WorkspaceID != q.Job.WorkspaceID):
		x.drop(q.Job.QueueKey()) // whose turn it is takes more than an order
	default:
		delete(h.gone, q.Job.ID)
		h.put(q)
	}
}

// left takes note of a job that waits no more.
func (x *shelves) left(k hub.QueueKey, jobID string) {
	h := x.m[k]
	if h == nil {
		return
	}
	h.jobs = slices.DeleteFunc(h.jobs, func(q hub.QueuedJob) bool { return q.Job.ID == jobID })
	if h.gone != nil {
		h.gone[jobID] = true
	}
}

func (x *shelves) drop(k hub.QueueKey) {
	if k == "" {
		clear(x.m)
		return
	}
	delete(x.m, k)
}

// fill begins to fill a queue's shelf; nil when somebody else does already, or nobody should.
func (ws *waiters) fill(k hub.QueueKey, now time.Time) *shelf {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	x := &ws.shelves
	if until, ok := x.shun[k]; ok {
		if now.Before(until) {
			return nil
		}
		delete(x.shun, k)
	}
	if h := x.m[k]; h != nil && (h.gone != nil || now.Before(h.until)) {
		return nil
	}
	if len(x.m) >= maxShelves {
		clear(x.m)
	}
	h := &shelf{gone: map[string]bool{}}
	x.m[k] = h
	return h
}

// filled ends that with the page that was read; nil jobs are none that a shelf is for.
func (ws *waiters) filled(k hub.QueueKey, h *shelf, jobs []hub.QueuedJob, now time.Time) {
	if h == nil {
		return
	}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.shelves.m[k] != h { // something happened that may have changed the order
		return
	}
	if jobs == nil {
		delete(ws.shelves.m, k)
		return
	}
	came := h.jobs
	h.jobs = nil
	for _, q := range jobs {
		if q.Payload.Spec = nil; !h.gone[q.Job.ID] {
			h.jobs = append(h.jobs, q)
		}
	}
	h.whole, h.until, h.gone = len(jobs) < page, now.Add(shelfLife), nil
	for _, q := range came {
		h.put(q)
	}
	if mixed(h.jobs) {
		ws.shelves.drop(k)
	}
}

// pick reserves the first job of a queue's shelf behind a place that the runner suits and no other call is about to take.
func (ws *waiters) pick(k hub.QueueKey, r hub.Runner, after *hub.QueuePos, now time.Time) (hub.QueuedJob, bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	h := ws.shelves.m[k]
	if h == nil || h.gone != nil || !now.Before(h.until) {
		return hub.QueuedJob{}, false
	}
	for _, q := range h.jobs {
		if after != nil && comparePos(posOf(q.Job), *after) <= 0 || ws.reserved[q.Job.ID] || !arrivalOf(q).suits(r) {
			continue
		}
		ws.reserved[q.Job.ID] = true
		return q, true
	}
	return hub.QueuedJob{}, false
}

// contested forgets a queue's shelf for a while: a job of it was in other hands.
func (ws *waiters) contested(k hub.QueueKey, now time.Time) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.shelves.m[k] == nil {
		return
	}
	ws.shelves.drop(k)
	if len(ws.shelves.shun) >= maxShelves {
		clear(ws.shelves.shun)
	}
	ws.shelves.shun[k] = now.Add(shelfLife)
}

func (ws *waiters) left(k hub.QueueKey, jobID string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.shelves.left(k, jobID)
}

// takeShelved takes a job of a queue's shelf; nil when there is none for the runner.
func (s *Service) takeShelved(ctx context.Context, p hub.Principal, key hub.QueueKey, requestID string) (*Lease, error) {
	var after *hub.QueuePos
	for {
		q, ok := s.waiters.pick(key, p.Runner, after, s.clock.local())
		if !ok {
			return nil, nil
		}
		lease, err := s.takeReserved(ctx, p, q, requestID)
		if errors.Is(err, errShared) { // they are all of one workspace
			return nil, nil
		}
		if err != nil || lease != nil {
			return lease, err
		}
		at := posOf(q.Job)
		after = &at
	}
}

// shelvable says whether the order of a page is all that decides who is next.
func shelvable(jobs []hub.QueuedJob) bool {
	return !mixed(jobs) && !slices.ContainsFunc(jobs, func(q hub.QueuedJob) bool { return q.Job.Group != "" })
}
