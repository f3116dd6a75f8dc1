package storetest

import (
	"sync/atomic"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

func shareTests() []test {
	return []test{
		{name: "the cap on a workspace", run: shareCap},
		{name: "the cap on a workspace is exact", run: shareCapRace},
		{name: "both caps at once", run: shareBothCaps},
		{name: "who has jobs in a queue", run: shareList},
		{name: "a queue's jobs of one workspace", run: shareQueue},
	}
}

func (w *world) leaseCapped(p hub.EnqueueParams, perOwner, perWorkspace int) error {
	w.Helper()
	job := w.job(p.Job.ID)
	d, err := hub.Lease(job, p.Payload, grant(job, NewRunner(job.Owner)), at(time.Second), w.pol)
	w.must(err)
	c := change(d, at(time.Second))
	c.MaxRunning, c.MaxRunningPerWorkspace = perOwner, perWorkspace
	return w.s.Apply(w.ctx, c)
}

// wantCap wants the refusal that names a cap.
func (w *world) wantCap(err error, name string) {
	w.Helper()
	w.wantCode(err, hub.QuotaExceeded)
	w.equal(err.(*hub.Error).Details["cap"], name) //nolint:errorlint // wantCode has looked
}

func shareCap(w *world) {
	one, two := inWorkspace("wsp_one"), inWorkspace("wsp_two")
	first, second, third := w.enqueue("", one), w.enqueue("", one), w.enqueue("", one)
	w.must(w.leaseCapped(first, 0, 2))
	w.must(w.leaseCapped(second, 0, 2))
	before := w.everything(third.Job.ID)
	w.wantCap(w.leaseCapped(third, 0, 2), hub.CapWorkspace)
	w.equal(w.everything(third.Job.ID), before)
	w.must(w.leaseCapped(w.enqueue("", two), 0, 2)) // another workspace's share of the same machines
	w.must(w.leaseCapped(w.enqueue("", one), 0, 3))
	w.must(w.leaseCapped(w.enqueue("", one), 0, 0)) // no cap

	// The same workspace on another owner's machines has a share of its own there.
	elsewhere := NewJob(hub.UserOwner(NewID("usr_")), "")
	one(&elsewhere)
	_, _, err := w.s.Enqueue(w.ctx, elsewhere)
	w.must(err)
	w.must(w.leaseCapped(elsewhere, 0, 1))
}

func shareCapRace(w *world) {
	const most = 3
	jobs := make([]hub.EnqueueParams, 12)
	for i := range jobs {
		jobs[i] = w.enqueue("", inWorkspace([]string{"wsp_one", "wsp_two"}[i%2]))
	}
	var leased, refused atomic.Int32
	errs := make([]error, len(jobs))
	together(len(jobs), func(i int) {
		switch err := w.leaseCapped(jobs[i], 0, most); {
		case err == nil:
			leased.Add(1)
		case hub.CodeOf(err) == hub.QuotaExceeded:
			refused.Add(1)
		default:
			errs[i] = err
		}
	})
	for _, err := range errs {
		w.must(err)
	}
	w.equal(leased.Load(), int32(2*most))
	w.equal(refused.Load(), int32(len(jobs)-2*most))
}

func shareBothCaps(w *world) {
	one, two := inWorkspace("wsp_one"), inWorkspace("wsp_two")
	w.must(w.leaseCapped(w.enqueue("", one), 2, 1))
	w.wantCap(w.leaseCapped(w.enqueue("", one), 2, 1), hub.CapWorkspace)
	w.must(w.leaseCapped(w.enqueue("", two), 2, 1))
	// Over both: what more room for the workspace would not help is named.
	w.wantCap(w.leaseCapped(w.enqueue("", one), 2, 1), hub.CapRunning)
}

func shareList(w *world) {
	k := hub.NewQueueKey(w.owner, "")
	shares := func() []hub.Share {
		got, err := w.s.Shares(w.ctx, k)
		w.must(err)
		return got
	}
	w.equal(len(shares()), 0)
	one, two, three := inWorkspace("wsp_one"), inWorkspace("wsp_two"), inWorkspace("wsp_three")
	w.lease(w.enqueue("", one).Job.ID, w.runner(), at(time.Second))
	w.enqueue("", one)
	a := w.enqueue("", one, priority(5))
	b := w.enqueue("", two)
	w.enqueue("", two)
	c := w.enqueue("", three, priority(1))
	w.enqueue("rnr-some", inWorkspace("wsp_four")) // another queue
	share := func(p hub.EnqueueParams, live int) hub.Share {
		return hub.Share{WorkspaceID: p.Job.WorkspaceID, Head: hub.QueuePos{Rank: p.Job.Rank, ID: p.Job.ID}, Live: live}
	}
	w.equal(shares(), []hub.Share{share(c, 0), share(b, 0), share(a, 1)})
	// What runs counts wherever it was queued, so long as the machines are the owner's.
	r := w.runner()
	w.start(w.lease(w.enqueue(r.ID, three).Job.ID, r, at(time.Second)), at(2*time.Second))
	w.lease(w.enqueue("", three, priority(9)).Job.ID, r, at(time.Second))
	w.equal(shares(), []hub.Share{share(b, 0), share(a, 1), share(c, 2)})
}

func shareQueue(w *world) {
	one, two := inWorkspace("wsp_one"), inWorkspace("wsp_two")
	a, b := w.enqueue("", one), w.enqueue("", one)
	x := w.enqueue("", two)
	c := w.enqueue("", one, priority(1))
	k := hub.NewQueueKey(w.owner, "")
	list := func(workspace string, page int) []string {
		var out []string
		var after *hub.QueuePos
		for {
			jobs, err := w.s.ListQueuedOf(w.ctx, k, workspace, after, page)
			w.must(err)
			for _, j := range jobs {
				out = append(out, j.Job.ID)
				after = &hub.QueuePos{Rank: j.Job.Rank, ID: j.Job.ID}
			}
			if len(jobs) < page {
				return out
			}
		}
	}
	for page := 1; page <= 4; page++ {
		w.equal(list("wsp_one", page), []string{c.Job.ID, a.Job.ID, b.Job.ID})
		w.equal(list("wsp_two", page), []string{x.Job.ID})
		w.equal(len(list("wsp_none", page)), 0)
	}
}
