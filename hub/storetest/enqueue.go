package storetest

import (
	"bytes"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

func enqueueTests() []test {
	return []test{
		{name: "a job comes back as it was stored", run: enqueueRoundTrip},
		{name: "nothing but what must be", run: enqueueMinimal},
		{name: "times are cut to microseconds in UTC", run: enqueueTimes},
		{name: "a spec of a megabyte", run: enqueueBig},
		{name: "what is missing is not found", run: enqueueMissing},
		{name: "an id is used once", run: enqueueDuplicate},
		{name: "a repeat returns the job as it is now", run: enqueueRepeat},
		{name: "a key belongs to who submitted", run: enqueueScope},
		{name: "a repeat at once makes one job", run: enqueueRepeatAtOnce},
		{name: "a full queue refuses", run: enqueueFull},
		{name: "the cap is exact at once", run: enqueueFullAtOnce},
	}
}

func enqueueRoundTrip(w *world) {
	p := w.enqueue(NewID("rnr-"), priority(7), func(p *hub.EnqueueParams) {
		p.Job.WorkspaceID = "wsp_täglich"
		p.Job.MaxAttempts = 5
		p.Payload.Name = "größe 漢字 \U0001F680 'quoted' \"twice\" \\ %s \n next"
		p.Payload.Spec = []byte("{ \"image\":\t\"a\",\n \"b\": \"\\u0000é\" }") // not canonical, to see that nobody touches it
		p.Payload.Requires = []string{"docker", "linux", "a,b", `c"d`, "{e}", ""}
		p.Payload.Labels = []string{"größe"}
		p.Payload.Timeout = 90*time.Minute + 1
		p.Payload.Grace = 1500 * time.Millisecond
		p.Payload.RetryOn = []hub.Class{hub.ClassImagePull, hub.ClassRunnerLost}
		p.Payload.SubmittedBy = "usr_1"
		p.Payload.RetryOf = NewID("job_")
		p.Payload.BatchID = NewID("bat_")
		p.Payload.Needs = `[{"rule":"images","of":"größe","value":"a"}]`
	})
	w.equal(w.job(p.Job.ID), p.Job)
	w.equal(w.payload(p.Job.ID), p.Payload)
}

func enqueueMinimal(w *world) {
	p := w.enqueue("", func(p *hub.EnqueueParams) {
		p.Payload = hub.JobPayload{JobID: p.Job.ID, Spec: []byte(`{}`), Requires: []string{}}
	})
	w.equal(w.job(p.Job.ID), p.Job)
	w.equal(w.payload(p.Job.ID), p.Payload)
}

func enqueueTimes(w *world) {
	p := NewJob(w.owner, "")
	p.Job.CreatedAt = time.Date(2026, 3, 1, 23, 59, 59, 999999999, time.FixedZone("east", 3*60*60))
	p.Job.QueuedAt = p.Job.CreatedAt
	job, _, err := w.s.Enqueue(w.ctx, p)
	w.must(err)
	want := time.Date(2026, 3, 1, 20, 59, 59, 999999000, time.UTC)
	w.equal(job.CreatedAt, want)
	w.equal(w.job(job.ID).CreatedAt, want)
	w.equal(w.job(job.ID).QueuedAt, want)
}

func enqueueBig(w *world) {
	spec := bytes.Repeat([]byte(`{"k":"0123456789é"},`), 1<<20/20)
	p := w.enqueue("", func(p *hub.EnqueueParams) { p.Payload.Spec = spec })
	if got := w.payload(p.Job.ID).Spec; !bytes.Equal(got, spec) {
		w.Fatalf("got %d other bytes", len(got))
	}
}

func enqueueMissing(w *world) {
	_, err := w.s.GetJob(w.ctx, "job_missing")
	w.wantCode(err, hub.NotFound)
	_, err = w.s.GetPayload(w.ctx, "job_missing")
	w.wantCode(err, hub.NotFound)
	_, err = w.s.GetAttempt(w.ctx, "job_missing", 1)
	w.wantCode(err, hub.NotFound)
	p := w.enqueue("")
	_, err = w.s.GetAttempt(w.ctx, p.Job.ID, 1)
	w.wantCode(err, hub.NotFound)
	attempts, err := w.s.ListAttempts(w.ctx, p.Job.ID)
	w.must(err)
	w.equal(attempts, []hub.Attempt{})
}

func enqueueDuplicate(w *world) {
	p := w.enqueue("")
	q := NewJob(w.owner, "")
	q.Job.ID, q.Payload.JobID, q.Event.JobID = p.Job.ID, p.Job.ID, p.Job.ID
	q.Payload.Name = "another"
	_, _, err := w.s.Enqueue(w.ctx, q)
	w.wantCode(err, hub.Conflict)
	w.equal(w.payload(p.Job.ID), p.Payload)
	w.equal(len(w.events(p.Job.ID)), 1)
}

func enqueueRepeat(w *world) {
	fingerprint := NewDigest()
	keyed := func(p *hub.EnqueueParams) {
		p.IdempotencyKey, p.Fingerprint, p.MaxQueued = "k "+string(w.owner), fingerprint, 1
	}
	p := w.enqueue("", keyed)
	repeat := func() (hub.Job, string) {
		q := NewJob(w.owner, "")
		keyed(&q)
		job, existing, err := w.s.Enqueue(w.ctx, q) // the queue is full, which a repeat does not mind
		w.must(err)
		if !existing {
			w.Fatal("a repeat made a job")
		}
		return job, q.Job.ID
	}
	job, other := repeat()
	w.equal(job, p.Job)
	_, err := w.s.GetJob(w.ctx, other)
	w.wantCode(err, hub.NotFound)
	w.equal(len(w.events(other)), 0)

	now := w.lease(p.Job.ID, w.runner(), at(time.Second))
	job, _ = repeat()
	w.equal(job, now)

	q := NewJob(w.owner, "")
	keyed(&q)
	q.Fingerprint = NewDigest()
	_, _, err = w.s.Enqueue(w.ctx, q)
	w.wantCode(err, hub.Conflict)
	w.equal(len(w.events(q.Job.ID)), 0)
}

func enqueueScope(w *world) {
	first := func(p *hub.EnqueueParams) { p.IdempotencyKey, p.Fingerprint = "the same", NewDigest() }
	w.enqueue("", first, func(p *hub.EnqueueParams) { p.Payload.SubmittedBy = string(w.owner) })
	w.enqueue("", first, func(p *hub.EnqueueParams) { p.Payload.SubmittedBy = string(w.owner) + " too" })
	w.enqueue("") // and no key is no key
	w.enqueue("")
}

func enqueueRepeatAtOnce(w *world) {
	fingerprint := NewDigest()
	var made atomic.Int32
	ids, errs := make([]string, 12), make([]error, 12)
	together(len(ids), func(i int) {
		p := NewJob(w.owner, "")
		p.IdempotencyKey, p.Fingerprint = "k "+string(w.owner), fingerprint
		job, existing, err := w.s.Enqueue(w.ctx, p)
		if err == nil && !existing {
			made.Add(1)
		}
		ids[i], errs[i] = job.ID, err
	})
	for i := range ids {
		w.must(errs[i])
		w.equal(ids[i], ids[0])
	}
	w.equal(made.Load(), int32(1))
	jobs, err := w.s.ListJobs(w.ctx, hub.JobFilter{Owners: []hub.Owner{w.owner}, Limit: 100})
	w.must(err)
	w.equal(len(jobs), 1)
}

func enqueueFull(w *world) {
	capped := func(p *hub.EnqueueParams) { p.MaxQueued = 2 }
	first := w.enqueue("", capped)
	w.enqueue("", capped)
	w.enqueue(NewID("rnr-"), capped) // another queue of the same owner's
	p := NewJob(w.owner, "")
	capped(&p)
	p.IdempotencyKey, p.Fingerprint = "k "+string(w.owner), NewDigest()
	_, _, err := w.s.Enqueue(w.ctx, p)
	w.wantCode(err, hub.QueueFull)
	_, err = w.s.GetJob(w.ctx, p.Job.ID)
	w.wantCode(err, hub.NotFound)
	_, err = w.s.GetPayload(w.ctx, p.Job.ID)
	w.wantCode(err, hub.NotFound)
	w.equal(len(w.events(p.Job.ID)), 0)

	w.lease(first.Job.ID, w.runner(), at(time.Second)) // makes room
	_, existing, err := w.s.Enqueue(w.ctx, p)          // the refusal took no key
	w.must(err)
	w.equal(existing, false)
	w.enqueue("") // no cap
}

func enqueueFullAtOnce(w *world) {
	var stored, full atomic.Int32
	errs := make([]error, 16)
	together(len(errs), func(i int) {
		p := NewJob(w.owner, "")
		p.MaxQueued = 5
		_, _, err := w.s.Enqueue(w.ctx, p)
		switch {
		case err == nil:
			stored.Add(1)
		case hub.CodeOf(err) == hub.QueueFull:
			full.Add(1)
		default:
			errs[i] = err
		}
	})
	for _, err := range errs {
		w.must(err)
	}
	w.equal(fmt.Sprint(stored.Load(), " stored, ", full.Load(), " refused"), "5 stored, 11 refused")
}
