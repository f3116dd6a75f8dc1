package storetest

import (
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

func applyTests() []test {
	return []test{
		{name: "lease, start, heartbeat, settle", run: applyLife},
		{name: "a lost attempt and the next one", run: applyRequeue},
		{name: "released", run: applyRelease},
		{name: "canceled while queued", run: applyCancelQueued},
		{name: "canceled while running", run: applyCancelRunning},
		{name: "rejected", run: applyReject},
		{name: "a failure comes back as it was stored", run: applyFailure},
		{name: "nothing to write", run: applyUnchanged},
		{name: "the running cap", run: applyMaxRunning},
	}
}

func applyLife(w *world) {
	p, r := w.enqueue(""), w.runner()
	job := w.job(p.Job.ID)
	g := grant(job, r)
	d, err := hub.Lease(job, p.Payload, g, at(time.Second), w.pol)
	w.must(err)
	job = w.apply(d, at(time.Second))
	want := *d.NewAttempt
	w.equal(w.attempt(job.ID, 1), want)
	byLog, err := w.s.AttemptByLog(w.ctx, g.LogDigest)
	w.must(err)
	w.equal(byLog, want)

	job = w.start(job, at(2*time.Second))
	want.State, want.StartedAt = hub.AttemptRunning, at(2*time.Second)
	w.equal(w.attempt(job.ID, 1), want)

	d, err = hub.Heartbeat(job, p.Payload, proof(job), "running", "test", "2/3", at(17*time.Second), w.pol)
	w.must(err)
	job = w.apply(d, at(17*time.Second))
	w.equal(w.attempt(job.ID, 1), want)

	rep := hub.Report{State: hub.JobSucceeded, Digest: NewDigest(), Result: []byte("{ \"text\":\t\"größe \\u0000 漢字\" }")}
	job = w.settle(job, rep, at(time.Minute))
	want.State, want.EndedAt, want.ReportDigest = hub.AttemptSucceeded, at(time.Minute), rep.Digest
	attempts, err := w.s.ListAttempts(w.ctx, job.ID)
	w.must(err)
	w.equal(attempts, []hub.Attempt{want}) // the list lacks results
	want.Result = rep.Result
	w.equal(w.attempt(job.ID, 1), want)
	w.equal(job.LeaseRunnerID, r.ID)
}

func applyRequeue(w *world) {
	p, r := w.enqueue("", priority(3)), w.runner()
	job := w.start(w.lease(p.Job.ID, r, at(time.Second)), at(2*time.Second))
	late := job.LeaseExpiresAt
	d := hub.Expire(job, p.Payload, false, late)
	w.equal(d.Requeued, true)
	job = w.apply(d, late)
	w.equal(job.State, hub.JobQueued)
	lost := w.attempt(job.ID, 1)
	w.equal(lost.State, hub.AttemptLost)
	w.equal(lost.EndedAt, late)
	w.equal(lost.Failure.Class, hub.ClassRunnerLost)

	second := w.runner()
	job = w.lease(job.ID, second, late.Add(time.Second))
	w.settle(job, success(), late.Add(time.Minute))
	attempts, err := w.s.ListAttempts(w.ctx, job.ID)
	w.must(err)
	w.equal(len(attempts), 2)
	w.equal(attempts[0], lost)
	w.equal(attempts[1].Number, 2)
	w.equal(attempts[1].Epoch, int64(2))
	w.equal(attempts[1].RunnerID, second.ID)
	w.equal(w.attempt(job.ID, 1), lost)
}

func applyRelease(w *world) {
	p := w.enqueue("")
	job := w.start(w.lease(p.Job.ID, w.runner(), at(time.Second)), at(2*time.Second))
	d, err := hub.Release(job, proof(job), "the lid closed", at(3*time.Second))
	w.must(err)
	w.apply(d, at(3*time.Second))
	a := w.attempt(job.ID, 1)
	w.equal(a.State, hub.AttemptReleased)
	w.equal(a.Failure, (*hub.Failure)(nil))
	w.equal(a.Result, []byte(nil))
}

func applyCancelQueued(w *world) {
	p := w.enqueue("")
	d, err := hub.Cancel(p.Job, p.Payload, "not needed: größe", at(time.Second), w.pol)
	w.must(err)
	w.apply(d, at(time.Second))
	queued, err := w.s.ListQueued(w.ctx, p.Job.QueueKey(), nil, 10)
	w.must(err)
	w.equal(len(queued), 0)
}

func applyCancelRunning(w *world) {
	p := w.enqueue("")
	job := w.start(w.lease(p.Job.ID, w.runner(), at(time.Second)), at(2*time.Second))
	d, err := hub.Cancel(job, p.Payload, "stop", at(3*time.Second), w.pol)
	w.must(err)
	job = w.apply(d, at(3*time.Second))
	w.equal(w.attempt(job.ID, 1).State, hub.AttemptRunning)
	rep := hub.Report{State: hub.JobCanceled, Failure: &hub.Failure{Class: hub.ClassCanceled, Message: "stopped"}, Digest: NewDigest()}
	w.settle(job, rep, at(4*time.Second))
	w.equal(w.attempt(job.ID, 1).State, hub.AttemptCanceled)
}

func applyReject(w *world) {
	p := w.enqueue("")
	d, err := hub.Reject(p.Job, hub.Failure{Class: hub.ClassNoRunner, Message: "nobody came"}, at(time.Minute))
	w.must(err)
	w.apply(d, at(time.Minute))
}

func applyFailure(w *world) {
	p := w.enqueue("")
	job := w.start(w.lease(p.Job.ID, w.runner(), at(time.Second)), at(2*time.Second))
	f := &hub.Failure{Class: hub.ClassScript, Message: "exit 1: größe\n漢字", Hint: "read the log", Container: "job"}
	job = w.settle(job, hub.Report{State: hub.JobFailed, Failure: f, Digest: NewDigest()}, at(time.Minute))
	w.equal(job.Failure, f)
	w.equal(w.attempt(job.ID, 1).Failure, f)
}

func applyUnchanged(w *world) {
	p := w.enqueue("")
	d := hub.Expire(p.Job, p.Payload, false, at(time.Hour))
	w.equal(d.Unchanged, true)
	w.must(w.s.Apply(w.ctx, change(d, at(time.Hour))))
	w.equal(w.job(p.Job.ID), p.Job)
	w.equal(len(w.events(p.Job.ID)), 1)
}

func applyMaxRunning(w *world) {
	lease := func(p hub.EnqueueParams, most int) error {
		job := w.job(p.Job.ID)
		d, err := hub.Lease(job, p.Payload, grant(job, w.runner()), at(time.Second), w.pol)
		w.must(err)
		c := change(d, at(time.Second))
		c.MaxRunning = most
		return w.s.Apply(w.ctx, c)
	}
	first, second, third := w.enqueue(""), w.enqueue(""), w.enqueue("")
	w.must(lease(first, 2))
	w.must(lease(second, 2))
	w.wantCode(lease(third, 2), hub.QuotaExceeded)
	w.equal(w.job(third.Job.ID), third.Job)
	w.equal(len(w.events(third.Job.ID)), 1)

	// The cap is for leases: what runs already goes on, whatever the cap is now.
	job := w.job(first.Job.ID)
	d, err := hub.Heartbeat(job, first.Payload, proof(job), "", "", "", at(2*time.Second), w.pol)
	w.must(err)
	c := change(d, at(2*time.Second))
	c.MaxRunning = 1
	w.must(w.s.Apply(w.ctx, c))

	w.settle(w.job(first.Job.ID), success(), at(3*time.Second)) // makes room
	w.must(lease(third, 2))
	w.must(lease(w.enqueue(""), 0)) // no cap
}
