package storetest

import (
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

func guardTests() []test {
	return []test{
		{name: "another revision, state or epoch changes nothing", run: guardTable},
		{name: "a decision is written once", run: guardTwice},
		{name: "no such job", run: guardMissing},
		{name: "a second live attempt changes nothing", run: guardSecondAttempt},
		{name: "an end without its attempt changes nothing", run: guardNoAttempt},
		{name: "a log's capability names one attempt", run: guardLogDigest},
		{name: "a live job has a lease", run: guardLease},
	}
}

// everything is all that Apply may write about a job.
type everything struct {
	Job      hub.Job
	Attempts []hub.Attempt
	Events   []hub.Event
}

func (w *world) everything(id string) everything {
	w.Helper()
	attempts, err := w.s.ListAttempts(w.ctx, id)
	w.must(err)
	return everything{w.job(id), attempts, w.events(id)}
}

func guardTable(w *world) {
	p := w.enqueue("")
	running := w.start(w.lease(p.Job.ID, w.runner(), at(time.Second)), at(2*time.Second))
	before := w.everything(running.ID)
	report := success()
	settle, err := hub.Settle(running, p.Payload, proof(running), report, at(time.Minute))
	w.must(err)
	beat, err := hub.Heartbeat(running, p.Payload, proof(running), "a", "b", "c", at(time.Minute), w.pol)
	w.must(err)
	lost := hub.Expire(running, p.Payload, true, at(time.Minute))
	for _, d := range []hub.Decision{settle, beat, lost} {
		for name, g := range map[string]hub.Guard{
			"older revision": {State: hub.JobRunning, Epoch: 1, Revision: running.Revision - 1},
			"newer revision": {State: hub.JobRunning, Epoch: 1, Revision: running.Revision + 1},
			"another state":  {State: hub.JobLeased, Epoch: 1, Revision: running.Revision},
			"another epoch":  {State: hub.JobRunning, Epoch: 2, Revision: running.Revision},
		} {
			d.Guard = g
			if err := w.s.Apply(w.ctx, change(d, at(time.Minute))); err == nil {
				w.Fatalf("%s: %s was written", name, d.Action)
			} else {
				w.wantConflict(err)
			}
			w.equal(w.everything(running.ID), before)
		}
	}
	w.equal(w.attempt(running.ID, 1).Result, []byte(nil))
	w.apply(settle, at(time.Minute))
}

func guardTwice(w *world) {
	p := w.enqueue("")
	d, err := hub.Lease(p.Job, p.Payload, grant(p.Job, w.runner()), at(time.Second), w.pol)
	w.must(err)
	w.apply(d, at(time.Second))
	before := w.everything(p.Job.ID)
	w.wantConflict(w.s.Apply(w.ctx, change(d, at(time.Second))))
	w.equal(w.everything(p.Job.ID), before)
}

func guardMissing(w *world) {
	p := NewJob(w.owner, "")
	d, err := hub.Lease(p.Job, p.Payload, grant(p.Job, w.runner()), at(time.Second), w.pol)
	w.must(err)
	w.wantConflict(w.s.Apply(w.ctx, change(d, at(time.Second))))
	_, err = w.s.GetAttempt(w.ctx, p.Job.ID, 1)
	w.wantCode(err, hub.NotFound)
	w.equal(len(w.events(p.Job.ID)), 0)
}

// The invariants hold even for a decision that no function of hub makes.
func guardSecondAttempt(w *world) {
	p := w.enqueue("")
	job := w.lease(p.Job.ID, w.runner(), at(time.Second))
	before := w.everything(job.ID)
	queued := job
	queued.State = hub.JobQueued
	d, err := hub.Lease(queued, p.Payload, grant(job, w.runner()), at(2*time.Second), w.pol)
	w.must(err)
	d.Guard.State = hub.JobLeased
	if err := w.s.Apply(w.ctx, change(d, at(2*time.Second))); err == nil {
		w.Fatal("a job has two live attempts")
	}
	w.equal(w.everything(job.ID), before)
}

func guardNoAttempt(w *world) {
	p := w.enqueue("")
	d, err := hub.Cancel(p.Job, p.Payload, "", at(time.Second), w.pol)
	w.must(err)
	d.EndAttempt = &hub.AttemptEnd{State: hub.AttemptCanceled, At: at(time.Second)}
	before := w.everything(p.Job.ID)
	w.wantConflict(w.s.Apply(w.ctx, change(d, at(time.Second))))
	w.equal(w.everything(p.Job.ID), before)
}

func guardLogDigest(w *world) {
	p, q := w.enqueue(""), w.enqueue("")
	g := grant(p.Job, w.runner())
	d, err := hub.Lease(p.Job, p.Payload, g, at(time.Second), w.pol)
	w.must(err)
	w.apply(d, at(time.Second))
	before := w.everything(q.Job.ID)
	d, err = hub.Lease(q.Job, q.Payload, g, at(time.Second), w.pol)
	w.must(err)
	if err := w.s.Apply(w.ctx, change(d, at(time.Second))); err == nil {
		w.Fatal("two attempts have the same log")
	}
	w.equal(w.everything(q.Job.ID), before)
}

func guardLease(w *world) {
	p := w.enqueue("")
	before := w.everything(p.Job.ID)
	for name, spoil := range map[string]func(*hub.Job){
		"no digest":               func(j *hub.Job) { j.LeaseDigest = nil },
		"no runner":               func(j *hub.Job) { j.LeaseRunnerID = "" },
		"no end":                  func(j *hub.Job) { j.LeaseExpiresAt = time.Time{} },
		"no deadline":             func(j *hub.Job) { j.DeadlineAt = time.Time{} },
		"end after deadline":      func(j *hub.Job) { j.LeaseExpiresAt = j.DeadlineAt.Add(time.Second) },
		"no such state":           func(j *hub.Job) { j.State = "resting" },
		"ended without an end":    func(j *hub.Job) { j.State = hub.JobSucceeded },
		"running without a start": func(j *hub.Job) { j.State = hub.JobRunning },
	} {
		d, err := hub.Lease(p.Job, p.Payload, grant(p.Job, w.runner()), at(time.Second), w.pol)
		w.must(err)
		spoil(&d.Job)
		if err := w.s.Apply(w.ctx, change(d, at(time.Second))); err == nil {
			w.Errorf("%s: was written", name)
		}
		w.equal(w.everything(p.Job.ID), before)
	}
}
