package storetest

import (
	"math"
	"slices"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

func queueTests() []test {
	return []test{
		{name: "in the order of rank and id", run: queueOrder},
		{name: "requeued jobs keep their place", run: queueRequeued},
		{name: "what a place carries", run: queuePlace},
		{name: "queues are apart", run: queueApart},
		{name: "which queues hold something", run: queueKeys},
		{name: "only queues that hold something", run: queueKeysExact, alone: true},
	}
}

// ids of a queue, read in pages.
func (w *world) queued(k hub.QueueKey, page int) []string {
	w.Helper()
	var out []string
	var after *hub.QueuePos
	for {
		jobs, err := w.s.ListQueued(w.ctx, k, after, page)
		w.must(err)
		if len(jobs) > page {
			w.Fatalf("a page of %d has %d", page, len(jobs))
		}
		for _, j := range jobs {
			out = append(out, j.Job.ID)
			after = &hub.QueuePos{Rank: j.Job.Rank, ID: j.Job.ID}
		}
		if len(jobs) < page {
			return out
		}
	}
}

func queueOrder(w *world) {
	a := w.enqueue("")
	b := w.enqueue("", priority(-5))
	c := w.enqueue("", priority(5))
	d := w.enqueue("")
	e := w.enqueue("", priority(5))
	want := []string{c.Job.ID, e.Job.ID, a.Job.ID, d.Job.ID, b.Job.ID}
	k := hub.NewQueueKey(w.owner, "")
	for page := 1; page <= 6; page++ {
		w.equal(w.queued(k, page), want)
	}
	for i, p := range []hub.EnqueueParams{c, e, a, d, b} {
		n, err := w.s.CountAhead(w.ctx, k, hub.QueuePos{Rank: p.Job.Rank, ID: p.Job.ID})
		w.must(err)
		w.equal(n, i)
	}
	n, err := w.s.CountAhead(w.ctx, k, hub.QueuePos{Rank: math.MaxInt32})
	w.must(err)
	w.equal(n, 5)
}

func queueRequeued(w *world) {
	a, b, c := w.enqueue(""), w.enqueue(""), w.enqueue("")
	high := w.enqueue("", priority(1))
	job := w.lease(b.Job.ID, w.runner(), at(time.Second))
	d, err := hub.Release(job, proof(job), "", at(2*time.Second))
	w.must(err)
	w.apply(d, at(2*time.Second))
	w.equal(w.queued(hub.NewQueueKey(w.owner, ""), 10), []string{high.Job.ID, a.Job.ID, b.Job.ID, c.Job.ID})
}

func queuePlace(w *world) {
	p := w.enqueue("", func(p *hub.EnqueueParams) {
		p.Payload.Name = "n"
		p.Payload.Requires, p.Payload.Labels = []string{"docker"}, []string{"big"}
		p.Payload.RetryOn = []hub.Class{hub.ClassOOM}
	})
	got, err := w.s.ListQueued(w.ctx, p.Job.QueueKey(), nil, 10)
	w.must(err)
	want := hub.QueuedJob{Job: p.Job, Payload: p.Payload}
	want.Payload.Spec = nil // apart, since it may be large
	w.equal(got, []hub.QueuedJob{want})
}

func queueApart(w *world) {
	r := w.runner()
	pool, named := w.enqueue(""), w.enqueue(r.ID)
	other := NewJob(hub.WorkspaceOwner(NewID("wsp_")), "")
	_, _, err := w.s.Enqueue(w.ctx, other)
	w.must(err)
	w.equal(w.queued(hub.NewQueueKey(w.owner, ""), 10), []string{pool.Job.ID})
	w.equal(w.queued(hub.NewQueueKey(w.owner, r.ID), 10), []string{named.Job.ID})
	w.equal(w.queued(other.Job.QueueKey(), 10), []string{other.Job.ID})
	w.equal(w.queued(hub.NewQueueKey(w.owner, "rnr-none"), 10), []string{})
	w.lease(pool.Job.ID, r, at(time.Second))
	w.equal(w.queued(hub.NewQueueKey(w.owner, ""), 10), []string{})
}

func queueKeys(w *world) {
	entered := func(d time.Duration) func(*hub.EnqueueParams) {
		return func(p *hub.EnqueueParams) { p.Job.QueuedAt = at(d) }
	}
	w.enqueue("", entered(time.Minute), priority(2)) // the head is younger than the rest
	w.enqueue("", entered(time.Second))
	w.enqueue("rnr-late", entered(time.Minute))
	gone := w.enqueue("rnr-gone", entered(0))
	w.lease(gone.Job.ID, hub.Runner{ID: "rnr-gone", Owner: w.owner}, at(0))
	mine := func(before time.Duration) []hub.QueueKey {
		keys, err := w.s.QueueKeys(w.ctx, at(before))
		w.must(err)
		keys = slices.DeleteFunc(keys, func(k hub.QueueKey) bool { o, _ := k.Split(); return o != w.owner })
		slices.Sort(keys)
		return keys
	}
	pool, late := hub.NewQueueKey(w.owner, ""), hub.NewQueueKey(w.owner, "rnr-late")
	w.equal(mine(time.Second), []hub.QueueKey{}) // before, and not at
	w.equal(mine(time.Second+time.Microsecond), []hub.QueueKey{pool})
	w.equal(mine(time.Hour), []hub.QueueKey{pool, late})
}

func queueKeysExact(w *world) {
	keys, err := w.s.QueueKeys(w.ctx, at(time.Hour))
	w.must(err)
	w.equal(keys, []hub.QueueKey{})
	w.enqueue("")
	w.enqueue("")
	w.enqueue("rnr-1")
	keys, err = w.s.QueueKeys(w.ctx, at(time.Hour))
	w.must(err)
	slices.Sort(keys)
	w.equal(keys, []hub.QueueKey{hub.NewQueueKey(w.owner, ""), hub.NewQueueKey(w.owner, "rnr-1")}) // each once
}
