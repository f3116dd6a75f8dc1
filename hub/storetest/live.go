package storetest

import (
	"slices"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

func liveTests() []test {
	return []test{
		{name: "all that runners hold, in pages", run: liveAll, alone: true},
		{name: "what an unpaired runner holds", run: liveRevoked},
		{name: "what one runner holds", run: liveOfRunner},
		{name: "how much an owner's runners hold", run: liveCount},
	}
}

// live reads all live jobs in pages.
func (w *world) live(page int) []hub.LiveJob {
	w.Helper()
	var out []hub.LiveJob
	after := ""
	for {
		jobs, err := w.s.ListLive(w.ctx, after, page)
		w.must(err)
		out = append(out, jobs...)
		if len(jobs) < page {
			return out
		}
		after = jobs[len(jobs)-1].Job.ID
	}
}

func liveAll(w *world) {
	w.equal(w.live(10), []hub.LiveJob{})
	r := w.runner()
	var want []hub.LiveJob
	for i := range 5 {
		p := w.enqueue("")
		job := w.lease(p.Job.ID, r, at(time.Second))
		if i%2 == 0 {
			job = w.start(job, at(2*time.Second))
		}
		l := hub.LiveJob{Job: job, Payload: p.Payload}
		l.Payload.Spec = nil
		want = append(want, l)
	}
	w.enqueue("") // queued: not live
	done := w.lease(w.enqueue("").Job.ID, r, at(time.Second))
	w.settle(done, success(), at(time.Minute))
	for page := 1; page <= 6; page++ {
		w.equal(w.live(page), want)
	}
}

func liveRevoked(w *world) {
	r := w.runner()
	AddRunner(w, w.s, r)
	job := w.lease(w.enqueue("").Job.ID, r, at(time.Second))
	find := func() hub.LiveJob {
		all := w.live(100)
		i := slices.IndexFunc(all, func(l hub.LiveJob) bool { return l.Job.ID == job.ID })
		if i < 0 {
			w.Fatal("the job is not among the live ones")
		}
		return all[i]
	}
	w.equal(find().Revoked, false)
	_, err := w.s.RevokeRunner(w.ctx, r.ID, at(time.Minute), NewEvent(hub.ActRunnerRevoked))
	w.must(err)
	w.equal(find().Revoked, true)
}

func liveOfRunner(w *world) {
	r, other := w.runner(), w.runner()
	first := w.lease(w.enqueue("").Job.ID, r, at(time.Second))
	second := w.start(w.lease(w.enqueue(r.ID).Job.ID, r, at(time.Second)), at(2*time.Second))
	w.lease(w.enqueue("").Job.ID, other, at(time.Second))
	ended := w.lease(w.enqueue("").Job.ID, r, at(time.Second))
	w.settle(ended, success(), at(time.Minute))
	got, err := w.s.LiveOfRunner(w.ctx, r.ID)
	w.must(err)
	w.equal(got, []hub.Job{first, second})
	got, err = w.s.LiveOfRunner(w.ctx, "")
	w.must(err)
	w.equal(got, []hub.Job{})
}

func liveCount(w *world) {
	r, other := w.runner(), w.runner()
	w.lease(w.enqueue("").Job.ID, r, at(time.Second))
	w.start(w.lease(w.enqueue("").Job.ID, r, at(time.Second)), at(2*time.Second))
	w.lease(w.enqueue("").Job.ID, other, at(time.Second))
	w.enqueue("")
	n, err := w.s.CountLive(w.ctx, w.owner)
	w.must(err)
	w.equal(n, map[string]int{r.ID: 2, other.ID: 1})
	n, err = w.s.CountLive(w.ctx, "user:nobody")
	w.must(err)
	w.equal(len(n), 0)
}
