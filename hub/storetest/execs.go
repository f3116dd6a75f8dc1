package storetest

import (
	"sync/atomic"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

func execTests() []test {
	return []test{
		{name: "how a job is held is kept", run: heldKept},
		{name: "what a spec says of holds is kept", run: holdPayload},
		{name: "a request comes back as it was", run: execRoundTrip},
		{name: "a write over another one is a conflict", run: execConflict},
		{name: "open requests are listed by job", run: execOpen},
		{name: "of one job's requests so many are open", run: execCap},
		{name: "the cap is exact", run: execCapRace},
		{name: "old requests are found and deleted", run: execExpiry, alone: true},
		{name: "events are written with the change", run: execEvents},
	}
}

func heldKept(w *world) {
	p := w.enqueue("", func(p *hub.EnqueueParams) { p.Payload.Hold = 10 * time.Minute })
	j := w.start(w.lease(p.Job.ID, w.runner(), at(time.Second)), at(2*time.Second))
	code := 3
	d, err := hub.Hold(j, w.payload(j.ID), proof(j), hub.HoldReport{
		Left: time.Minute, State: hub.JobFailed, ExitCode: &code, Failure: hub.Failure{Class: hub.ClassScript, Message: "it broke"},
	}, at(3*time.Second), w.pol)
	w.must(err)
	j = w.apply(d, at(3*time.Second))
	w.equal(j.Held, &hub.Held{Until: at(63 * time.Second), State: hub.JobFailed, ExitCode: &code})
	live, err := w.s.LiveOfRunner(w.ctx, j.LeaseRunnerID)
	w.must(err)
	w.equal(live, []hub.Job{j})
	d, err = hub.Heartbeat(j, w.payload(j.ID), proof(j), "collecting", "", "", at(4*time.Second), w.pol) // renewals keep it
	w.must(err)
	j = w.apply(d, at(4*time.Second))
	done := w.settle(j, hub.Report{State: hub.JobFailed, Failure: j.Failure, Digest: NewDigest(), Result: []byte(`{}`)}, at(5*time.Second))
	w.equal(done.Held == nil, true)
}

func holdPayload(w *world) {
	p := w.enqueue("", func(p *hub.EnqueueParams) { p.Payload.Hold, p.Payload.Exec = 90*time.Second, true })
	w.equal(w.payload(p.Job.ID), p.Payload)
}

// request is a parked request of a job's.
func request(jobID string) hub.Exec {
	return hub.NewExec(hub.Exec{
		ID: NewID(hub.ExecIDPrefix), JobID: jobID, Attempt: 1, Kind: hub.ExecRun, By: "usr_someone", Timeout: time.Minute, Limit: 100,
		Order: hub.ExecOrder{Service: "db", Command: []string{"sh", "-c", "größe \" 'x'"}, Env: map[string]string{"A": "b"}, User: "1000"},
	}, Start())
}

const manyExecs = 4

func (w *world) park(jobID string) hub.Exec {
	w.Helper()
	x := request(jobID)
	w.must(w.s.CreateExec(w.ctx, x, manyExecs, hub.Event{}))
	return x
}

func (w *world) exec(id string) hub.Exec {
	w.Helper()
	x, err := w.s.GetExec(w.ctx, id)
	w.must(err)
	return x
}

func execRoundTrip(w *world) {
	x := w.park(NewID("job_"))
	w.equal(w.exec(x.ID), x)
	x, _, err := x.Begin(hub.Digest("word"), at(time.Second))
	w.must(err)
	w.must(w.s.UpdateExec(w.ctx, x, hub.Event{}))
	x, err = x.Received(true, 0, 10)
	w.must(err)
	w.must(w.s.UpdateExec(w.ctx, x, hub.Event{}))
	code := 7
	x, _, err = x.Finish(hub.Digest("word"), hub.ExecEnd{Status: hub.ExecExited, ExitCode: &code, Message: "m", Truncated: true}, at(2*time.Second))
	w.must(err)
	w.must(w.s.UpdateExec(w.ctx, x, hub.Event{}))
	w.equal(w.exec(x.ID), x)
	_, err = w.s.GetExec(w.ctx, NewID(hub.ExecIDPrefix))
	w.wantCode(err, hub.NotFound)
}

func execConflict(w *world) {
	x := w.park(NewID("job_"))
	a, _, err := x.Begin(hub.Digest("a"), at(time.Second))
	w.must(err)
	b, _, err := x.Begin(hub.Digest("b"), at(time.Second))
	w.must(err)
	w.must(w.s.UpdateExec(w.ctx, a, hub.Event{}))
	w.wantConflict(w.s.UpdateExec(w.ctx, b, hub.Event{}))
	w.equal(w.exec(x.ID), a)
	b.ID = NewID(hub.ExecIDPrefix)
	w.wantConflict(w.s.UpdateExec(w.ctx, b, hub.Event{}))
}

func execOpen(w *world) {
	job := NewID("job_")
	first, second := w.park(job), w.park(job)
	w.park(NewID("job_"))
	open, err := w.s.OpenExecs(w.ctx, job)
	w.must(err)
	w.equal(open, []hub.Exec{first, second})
	ended, _ := first.Stop(at(time.Second))
	w.must(w.s.UpdateExec(w.ctx, ended, hub.Event{}))
	open, err = w.s.OpenExecs(w.ctx, job)
	w.must(err)
	w.equal(open, []hub.Exec{second})
}

func execCap(w *world) {
	job := NewID("job_")
	x := w.park(job)
	for range manyExecs - 1 {
		w.park(job)
	}
	w.wantCode(w.s.CreateExec(w.ctx, request(job), manyExecs, hub.Event{}), hub.QuotaExceeded)
	ended, _ := x.Stop(at(time.Second))
	w.must(w.s.UpdateExec(w.ctx, ended, hub.Event{}))
	w.park(job)
}

func execCapRace(w *world) {
	job := NewID("job_")
	var stored atomic.Int64
	together(3*manyExecs, func(int) {
		if w.s.CreateExec(w.ctx, request(job), manyExecs, hub.Event{}) == nil {
			stored.Add(1)
		}
	})
	w.equal(stored.Load(), int64(manyExecs))
}

func execExpiry(w *world) {
	old, young := w.park(NewID("job_")), w.park(NewID("job_"))
	young, _, err := young.Begin(hub.Digest("word"), at(time.Hour))
	w.must(err)
	w.must(w.s.UpdateExec(w.ctx, young, hub.Event{}))
	got, err := w.s.ExpiredExecs(w.ctx, at(time.Hour), 10)
	w.must(err)
	w.equal(got, []hub.Exec{old})
	w.must(w.s.DeleteExecs(w.ctx, []string{old.ID, NewID(hub.ExecIDPrefix)}))
	_, err = w.s.GetExec(w.ctx, old.ID)
	w.wantCode(err, hub.NotFound)
	w.equal(w.exec(young.ID), young)
}

func execEvents(w *world) {
	x := request(NewID("job_"))
	e := NewEvent(hub.ActExecRequested)
	e.JobID, e.Detail = x.JobID, map[string]string{"argv": "[\"true\"]"}
	w.must(w.s.CreateExec(w.ctx, x, manyExecs, e))
	ended, _ := x.Stop(at(time.Second))
	e.Action = hub.ActExecEnded
	w.must(w.s.UpdateExec(w.ctx, ended, e))
	w.wantConflict(w.s.UpdateExec(w.ctx, ended, e))
	var actions []hub.Action
	for _, e := range w.events(x.JobID) {
		actions = append(actions, e.Action)
	}
	w.equal(actions, []hub.Action{hub.ActExecRequested, hub.ActExecEnded})
}
