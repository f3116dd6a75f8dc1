package storetest

import (
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

func handoffTests() []test {
	return []test{
		{name: "a job is stored with its lease", run: handoffLeased},
		{name: "a lease that is refused leaves the job queued", run: handoffRefused},
		{name: "a job that is not stored is not leased", run: handoffNotStored},
		{name: "caps are exact for leases that come with their jobs", run: handoffCapRace},
	}
}

// handoff is a new job with its lease to r.
func (w *world) handoff(r hub.Runner, edits ...func(*hub.EnqueueParams)) hub.EnqueueParams {
	w.Helper()
	p := NewJob(w.owner, "")
	for _, f := range edits {
		f(&p)
	}
	d, err := hub.Lease(p.Job, p.Payload, grant(p.Job, r), at(time.Second), w.pol)
	w.must(err)
	c := change(d, at(time.Second))
	p.Handoff = &c
	return p
}

func (w *world) enqueueNow(p hub.EnqueueParams) hub.Job {
	w.Helper()
	got, existing, err := w.s.Enqueue(w.ctx, p)
	w.must(err)
	w.equal(existing, false)
	w.equal(got, w.job(p.Job.ID))
	return got
}

func handoffLeased(w *world) {
	r := w.paired()
	p := w.handoff(r)
	got := w.enqueueNow(p)
	w.equal(got.State, hub.JobLeased)
	w.equal(got, p.Handoff.Job)
	attempts, err := w.s.ListAttempts(w.ctx, p.Job.ID)
	w.must(err)
	w.equal(attempts, []hub.Attempt{*p.Handoff.NewAttempt})
	var actions []hub.Action
	for _, e := range w.events(p.Job.ID) {
		actions = append(actions, e.Action)
	}
	w.equal(actions, []hub.Action{p.Event.Action, hub.ActJobLeased})
	w.equal(len(w.queued(p.Job.QueueKey(), 10)), 0)
	held, err := w.s.LiveOfRunner(w.ctx, r.ID)
	w.must(err)
	w.equal(held, []hub.Job{got})
	w.settle(w.start(got, at(2*time.Second)), success(), at(3*time.Second)) // it goes on like any other
}

func handoffRefused(w *world) {
	gone := w.paired()
	_, err := w.s.RevokeRunner(w.ctx, gone.ID, at(0), NewEvent(hub.ActRunnerRevoked))
	w.must(err)
	w.must(w.leaseCapped(w.enqueue("", inWorkspace("wsp_one")), 1, 0))
	for name, p := range map[string]hub.EnqueueParams{
		"revoked":   w.handoff(gone),
		"owner":     w.handoff(w.runner()),
		"workspace": w.handoff(w.runner(), inWorkspace("wsp_one")),
	} {
		switch name {
		case "owner":
			p.Handoff.MaxRunning = 1
		case "workspace":
			p.Handoff.MaxRunningPerWorkspace = 1
		}
		got := w.enqueueNow(p)
		w.equal(got, p.Job)
		attempts, err := w.s.ListAttempts(w.ctx, p.Job.ID)
		w.must(err)
		w.equal(len(attempts), 0)
		w.equal(len(w.events(p.Job.ID)), 1)
		w.must(w.tryLease(got)) // and can be had by whoever may
	}
}

func handoffNotStored(w *world) {
	p := w.handoff(w.runner(), func(p *hub.EnqueueParams) { p.IdempotencyKey, p.Fingerprint = "k", NewDigest() })
	first := w.enqueueNow(p)
	again := w.handoff(w.runner(), func(q *hub.EnqueueParams) {
		q.IdempotencyKey, q.Fingerprint, q.Payload.SubmittedBy = "k", p.Fingerprint, p.Payload.SubmittedBy
	})
	got, existing, err := w.s.Enqueue(w.ctx, again)
	w.must(err)
	w.equal(existing, true)
	w.equal(got, first)
	_, err = w.s.GetJob(w.ctx, again.Job.ID)
	w.wantCode(err, hub.NotFound)
	attempts, err := w.s.ListAttempts(w.ctx, again.Job.ID)
	w.must(err)
	w.equal(len(attempts), 0)

	w.enqueue("")
	full := w.handoff(w.runner())
	full.MaxQueued = 1
	_, _, err = w.s.Enqueue(w.ctx, full)
	w.wantCode(err, hub.QueueFull)
	_, err = w.s.GetJob(w.ctx, full.Job.ID)
	w.wantCode(err, hub.NotFound)
}

func handoffCapRace(w *world) {
	const most = 4
	jobs := make([]hub.EnqueueParams, 3*most)
	for i := range jobs {
		jobs[i] = w.handoff(w.runner())
		jobs[i].Handoff.MaxRunning = most
	}
	states := make([]hub.JobState, len(jobs))
	errs := make([]error, len(jobs))
	together(len(jobs), func(i int) {
		j, _, err := w.s.Enqueue(w.ctx, jobs[i])
		states[i], errs[i] = j.State, err
	})
	n := map[hub.JobState]int{}
	for i := range jobs {
		w.must(errs[i])
		w.equal(w.job(jobs[i].Job.ID).State, states[i])
		n[states[i]]++
	}
	w.equal(n, map[hub.JobState]int{hub.JobLeased: most, hub.JobQueued: len(jobs) - most})
}
