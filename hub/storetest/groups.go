package storetest

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

func groupTests() []test {
	return []test{
		{name: "what a group's job carries", run: groupFields},
		{name: "one live job a group", run: groupOne},
		{name: "a group belongs to a workspace and not to an owner", run: groupWorkspace},
		{name: "every end of the holder frees the group", run: groupEnds},
		{name: "a guard that finds another state comes first", run: groupGuard},
		{name: "who holds groups", run: groupHolders},
		{name: "who waits for a group", run: groupQueue},
		{name: "of leases at once one is written", run: groupRace},
	}
}

// inGroup puts a job into a concurrency group. Tests share a store, so that each has a workspace of its own.
func (w *world) inGroup(name string) func(*hub.EnqueueParams) {
	return func(p *hub.EnqueueParams) { p.Job.Group, p.Job.WorkspaceID = name, w.workspace() }
}

func inWorkspace(id string) func(*hub.EnqueueParams) {
	return func(p *hub.EnqueueParams) { p.Job.WorkspaceID = id }
}

// workspace is the id of a workspace that only this test writes to.
func (w *world) workspace() string {
	id, _ := w.owner.User()
	return "wsp_of_" + id
}

// tryLease asks for the lease of a queued job as it was read.
func (w *world) tryLease(j hub.Job) error {
	w.Helper()
	d, err := hub.Lease(j, w.payload(j.ID), grant(j, w.runner()), at(time.Second), w.pol)
	w.must(err)
	return w.s.Apply(w.ctx, change(d, at(time.Second)))
}

func (w *world) wantBusy(err error) {
	w.Helper()
	if !errors.Is(err, hub.ErrGroupBusy) {
		w.Fatalf("got error %v, want ErrGroupBusy", err)
	}
}

func groupFields(w *world) {
	p := w.enqueue("", w.inGroup("größe/1"), func(p *hub.EnqueueParams) { p.Payload.CancelRunning = true })
	w.equal(w.job(p.Job.ID).Group, "größe/1")
	w.equal(w.payload(p.Job.ID).CancelRunning, true)
	w.equal(w.payload(w.enqueue("").Job.ID).CancelRunning, false)
	got, err := w.s.ListQueued(w.ctx, p.Job.QueueKey(), nil, 1)
	w.must(err)
	w.equal(got[0].Job.Group, "größe/1")
	w.equal(got[0].Payload.CancelRunning, true)
}

func groupOne(w *world) {
	first, second, other, none := w.enqueue("", w.inGroup("a")), w.enqueue("", w.inGroup("a")), w.enqueue("", w.inGroup("b")), w.enqueue("")
	holder := w.lease(first.Job.ID, w.runner(), at(time.Second))
	before := w.everything(second.Job.ID)
	w.wantBusy(w.tryLease(second.Job))
	w.equal(w.everything(second.Job.ID), before)
	w.must(w.tryLease(other.Job))
	w.must(w.tryLease(none.Job))
	holder = w.start(holder, at(2*time.Second)) // a holder goes on, and so does its lease
	w.wantBusy(w.tryLease(second.Job))
	w.settle(holder, success(), at(3*time.Second))
	w.must(w.tryLease(second.Job))
}

func groupWorkspace(w *world) {
	w.lease(w.enqueue("", w.inGroup("a")).Job.ID, w.runner(), at(time.Second))
	elsewhere := w.enqueue("", w.inGroup("a"), inWorkspace(w.workspace()+"-2"))
	w.must(w.tryLease(elsewhere.Job))
	other := NewJob(hub.WorkspaceOwner(w.workspace()), "")
	w.inGroup("a")(&other)
	_, _, err := w.s.Enqueue(w.ctx, other)
	w.must(err)
	d, err := hub.Lease(other.Job, other.Payload, grant(other.Job, NewRunner(other.Job.Owner)), at(time.Second), w.pol)
	w.must(err)
	w.wantBusy(w.s.Apply(w.ctx, change(d, at(time.Second))))
}

func groupEnds(w *world) {
	next := w.enqueue("", w.inGroup("a"), priority(-1))
	for _, end := range []func(j hub.Job) hub.Decision{
		func(j hub.Job) hub.Decision { return hub.Expire(j, w.payload(j.ID), false, j.LeaseExpiresAt) },
		func(j hub.Job) hub.Decision {
			d, err := hub.Release(j, proof(j), "", at(2*time.Second))
			w.must(err)
			return d
		},
		func(j hub.Job) hub.Decision {
			d, err := hub.Settle(j, w.payload(j.ID), proof(j), success(), at(2*time.Second))
			w.must(err)
			return d
		},
	} {
		job := w.lease(w.enqueue("", w.inGroup("a")).Job.ID, w.runner(), at(time.Second))
		w.wantBusy(w.tryLease(w.job(next.Job.ID)))
		w.apply(end(job), at(time.Minute))
		got := w.lease(next.Job.ID, w.runner(), at(time.Minute))
		d, err := hub.Release(got, proof(got), "", at(time.Minute))
		w.must(err)
		w.apply(d, at(time.Minute))
	}
}

func groupGuard(w *world) {
	p, waits := w.enqueue("", w.inGroup("a")), w.enqueue("", w.inGroup("a"))
	w.must(w.tryLease(p.Job))
	w.wantConflict(w.tryLease(p.Job)) // it holds the group itself, and is no longer queued
	d, err := hub.Cancel(waits.Job, waits.Payload, "", at(time.Second), w.pol)
	w.must(err)
	w.apply(d, at(time.Second))
	w.wantConflict(w.tryLease(waits.Job))
}

func groupHolders(w *world) {
	key := func(name string) hub.Group { return hub.Group{WorkspaceID: w.workspace(), Name: name} }
	a, b := w.enqueue("", w.inGroup("a")), w.enqueue("", w.inGroup("b"))
	w.enqueue("", w.inGroup("a"))
	groups := []hub.Group{key("a"), key("b"), key("none"), {WorkspaceID: "wsp_other", Name: "a"}}
	holders := func() map[hub.Group]string {
		got, err := w.s.GroupHolders(w.ctx, groups)
		w.must(err)
		return got
	}
	w.equal(len(holders()), 0)
	job := w.lease(a.Job.ID, w.runner(), at(time.Second))
	w.start(w.lease(b.Job.ID, w.runner(), at(time.Second)), at(2*time.Second))
	w.equal(holders(), map[hub.Group]string{key("a"): a.Job.ID, key("b"): b.Job.ID})
	w.settle(job, success(), at(time.Minute))
	w.equal(holders(), map[hub.Group]string{key("b"): b.Job.ID})
	none, err := w.s.GroupHolders(w.ctx, nil)
	w.must(err)
	w.equal(len(none), 0)
}

func groupQueue(w *world) {
	low := w.enqueue("", w.inGroup("a"), priority(-1))
	named := w.enqueue("rnr-some", w.inGroup("a"))
	high := w.enqueue("", w.inGroup("a"), priority(1))
	w.enqueue("", w.inGroup("b"))
	w.enqueue("")
	w.lease(w.enqueue("", w.inGroup("a")).Job.ID, w.runner(), at(time.Second))
	list := func(limit int) []string {
		jobs, err := w.s.ListGroup(w.ctx, hub.Group{WorkspaceID: w.workspace(), Name: "a"}, limit)
		w.must(err)
		var ids []string
		for _, j := range jobs {
			ids = append(ids, j.Job.ID)
		}
		return ids
	}
	w.equal(list(10), []string{high.Job.ID, named.Job.ID, low.Job.ID})
	w.equal(list(2), []string{high.Job.ID, named.Job.ID})
}

func groupRace(w *world) {
	jobs := make([]hub.EnqueueParams, 8)
	for round := range 4 {
		for i := range jobs {
			jobs[i] = w.enqueue("", w.inGroup(string(rune('a'+round))))
		}
		var leased, busy atomic.Int32
		errs := make([]error, len(jobs))
		together(len(jobs), func(i int) {
			p := jobs[i]
			d, err := hub.Lease(p.Job, p.Payload, grant(p.Job, w.runner()), at(time.Second), w.pol)
			if err == nil {
				err = w.s.Apply(w.ctx, change(d, at(time.Second)))
			}
			switch {
			case err == nil:
				leased.Add(1)
			case errors.Is(err, hub.ErrGroupBusy):
				busy.Add(1)
			default:
				errs[i] = err
			}
		})
		for _, err := range errs {
			w.must(err)
		}
		w.equal(leased.Load(), int32(1))
		w.equal(busy.Load(), int32(len(jobs)-1))
	}
}
