package storetest

import (
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

func eventTests() []test {
	return []test{
		{name: "an event comes back as it was written", run: eventRoundTrip},
		{name: "one for each change, in order", run: eventLife},
		{name: "action and detail are the decision's", run: eventDecision},
		{name: "of one job only", run: eventOther},
	}
}

func eventRoundTrip(w *world) {
	p := NewJob(w.owner, "")
	p.Event = hub.Event{
		Time: at(time.Microsecond), Actor: "user:größe", OnBehalfOf: "user:2", Action: hub.ActJobSubmitted, Address: "2001:db8::1",
		Owner: w.owner, WorkspaceID: "wsp_1", JobID: p.Job.ID, Attempt: 2, RunnerID: "rnr-1",
		Detail: map[string]string{"größe": "漢字 \"'\n", "": "", "a": "{\"b\": 1}"},
	}
	_, _, err := w.s.Enqueue(w.ctx, p)
	w.must(err)
	got := w.events(p.Job.ID)
	w.equal(len(got), 1)
	if got[0].ID <= 0 {
		w.Fatalf("the event has id %d", got[0].ID)
	}
	p.Event.ID = got[0].ID
	w.equal(got[0], p.Event)
}

func eventLife(w *world) {
	p, r := w.enqueue(""), w.runner()
	job := w.lease(p.Job.ID, r, at(time.Second))
	job = w.start(job, at(2*time.Second))
	d, err := hub.Heartbeat(job, p.Payload, proof(job), "", "", "", at(3*time.Second), w.pol)
	w.must(err)
	job = w.apply(d, at(3*time.Second)) // no event: it renewed a lease
	d, err = hub.Cancel(job, p.Payload, "why not", at(4*time.Second), w.pol)
	w.must(err)
	job = w.apply(d, at(4*time.Second))
	w.settle(job, success(), at(5*time.Second))

	got := w.events(p.Job.ID)
	var actions []hub.Action
	last := int64(0)
	for _, e := range got {
		if e.ID <= last {
			w.Errorf("id %d follows %d", e.ID, last)
		}
		last = e.ID
		actions = append(actions, e.Action)
	}
	w.equal(actions, []hub.Action{
		hub.ActJobSubmitted, hub.ActJobLeased, hub.ActJobStarted, hub.ActCancelRequested, hub.ActJobSucceeded,
	})
	want := change(d, at(4*time.Second)).Event
	want.ID, want.Action, want.Detail = got[3].ID, hub.ActCancelRequested, map[string]string{"reason": "why not"}
	w.equal(got[3], want)
}

func eventDecision(w *world) {
	p := w.enqueue("")
	d, err := hub.Reject(p.Job, hub.Failure{Class: hub.ClassNoRunner, Message: "nobody came"}, at(time.Second))
	w.must(err)
	c := change(d, at(time.Second))
	c.Event.Action, c.Event.Detail = hub.ActJobSucceeded, map[string]string{"not": "this"}
	w.must(w.s.Apply(w.ctx, c))
	got := w.events(p.Job.ID)
	w.equal(len(got), 2)
	w.equal(got[1].Action, hub.ActJobRejected)
	w.equal(got[1].Detail, map[string]string{"class": "no_runner", "reason": "nobody came"})
}

func eventOther(w *world) {
	p, q := w.enqueue(""), w.enqueue("")
	w.lease(q.Job.ID, w.runner(), at(time.Second))
	w.equal(len(w.events(p.Job.ID)), 1)
	w.equal(len(w.events(q.Job.ID)), 2)
	w.equal(len(w.events("job_missing")), 0)
	w.equal(len(w.events("")), 0) // what concerns no job is not listed as one's
}
