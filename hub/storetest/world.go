package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/runnerhub/runnerhub/hub"
)

// world is one test's view of a store: an owner of its own, and steps that fail
// the test when they fail.
type world struct {
	*testing.T
	s     hub.Store
	ctx   context.Context
	owner hub.Owner
	pol   hub.Policy
}

func newWorld(t *testing.T, s hub.Store) *world {
	t.Helper()
	return &world{T: t, s: s, ctx: t.Context(), owner: hub.UserOwner(NewID("usr_")), pol: hub.DefaultPolicy()}
}

// at is a time after the start.
func at(d time.Duration) time.Time { return Start().Add(d) }

// must fails the test on an error.
func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatalf("unexpected error: %v", err)
	}
}

// wantCode wants a typed error.
func (w *world) wantCode(err error, c hub.Code) {
	w.Helper()
	if e, ok := errors.AsType[*hub.Error](err); !ok || e.Code != c {
		w.Fatalf("got error %v, want code %s", err, c)
	}
}

// wantConflict wants the guard's answer.
func (w *world) wantConflict(err error) {
	w.Helper()
	if !errors.Is(err, hub.ErrConflict) {
		w.Fatalf("got error %v, want ErrConflict", err)
	}
}

// equal compares what was read with what was written. Times must be the same
// instant in the same zone; an empty list may be nil.
func (w *world) equal(got, want any) {
	w.Helper()
	zone := cmp.Comparer(func(a, b time.Time) bool {
		return a.Equal(b) && a.Location().String() == b.Location().String()
	})
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), zone); diff != "" {
		w.Fatalf("got something else (-want +got):\n%s", diff)
	}
}

// enqueue stores a job of the world's owner.
func (w *world) enqueue(runnerID string, edits ...func(*hub.EnqueueParams)) hub.EnqueueParams {
	w.Helper()
	p := NewJob(w.owner, runnerID)
	for _, f := range edits {
		f(&p)
	}
	job, existing, err := w.s.Enqueue(w.ctx, p)
	w.must(err)
	if existing {
		w.Fatal("a new job is said to exist")
	}
	w.equal(job, p.Job)
	return p
}

func priority(n int) func(*hub.EnqueueParams) {
	return func(p *hub.EnqueueParams) {
		p.Job.Priority, p.Job.Rank = n, hub.RankOf(n, p.Job.CreatedAt, hub.DefaultPolicy())
	}
}

func (w *world) job(id string) hub.Job {
	w.Helper()
	j, err := w.s.GetJob(w.ctx, id)
	w.must(err)
	return j
}

func (w *world) payload(id string) hub.JobPayload {
	w.Helper()
	p, err := w.s.GetPayload(w.ctx, id)
	w.must(err)
	return p
}

func (w *world) attempt(id string, n int) hub.Attempt {
	w.Helper()
	a, err := w.s.GetAttempt(w.ctx, id, n)
	w.must(err)
	return a
}

func (w *world) events(id string) []hub.Event {
	w.Helper()
	e, err := w.s.ListEvents(w.ctx, id)
	w.must(err)
	return e
}

// runner is a machine that serves the owner's queues; it is not paired.
func (w *world) runner() hub.Runner { return NewRunner(w.owner) }

// nonce of the lease that w.lease gave.
func nonce(j hub.Job) string { return "nonce of " + j.ID }

// grant is what a runner leases with.
func grant(j hub.Job, r hub.Runner) hub.LeaseGrant {
	return hub.LeaseGrant{Runner: r, RequestID: NewID("req_"), Digest: hub.Digest(nonce(j)), LogDigest: NewDigest()}
}

func proof(j hub.Job) hub.Proof {
	return hub.Proof{Attempt: j.Attempt, Epoch: j.Epoch, Nonce: nonce(j)}
}

// change makes a decision writable, with an event as the hub would write it.
func change(d hub.Decision, now time.Time) hub.Change {
	e := hub.Event{
		Time: now, Actor: "runner:" + d.Job.LeaseRunnerID, OnBehalfOf: "user:someone", Address: "192.0.2.7",
		Owner: d.Job.Owner, WorkspaceID: d.Job.WorkspaceID, JobID: d.Job.ID, Attempt: d.Job.Attempt, RunnerID: d.Job.LeaseRunnerID,
	}
	return hub.Change{Decision: d, Event: e}
}

// apply writes a decision and returns the row as it is then.
func (w *world) apply(d hub.Decision, now time.Time) hub.Job {
	w.Helper()
	w.must(w.s.Apply(w.ctx, change(d, now)))
	j := w.job(d.Job.ID)
	w.equal(j, d.Job)
	return j
}

// lease hands a queued job to a runner.
func (w *world) lease(id string, r hub.Runner, now time.Time) hub.Job {
	w.Helper()
	j := w.job(id)
	d, err := hub.Lease(j, w.payload(id), grant(j, r), now, w.pol)
	w.must(err)
	return w.apply(d, now)
}

// start acknowledges a leased job.
func (w *world) start(j hub.Job, now time.Time) hub.Job {
	w.Helper()
	d, err := hub.Heartbeat(j, w.payload(j.ID), proof(j), "running", "build", "1/3", now, w.pol)
	w.must(err)
	return w.apply(d, now)
}

// settle ends a live job with a report.
func (w *world) settle(j hub.Job, r hub.Report, now time.Time) hub.Job {
	w.Helper()
	d, err := hub.Settle(j, w.payload(j.ID), proof(j), r, now)
	w.must(err)
	return w.apply(d, now)
}

// success is a report of one.
func success() hub.Report {
	return hub.Report{State: hub.JobSucceeded, Digest: NewDigest(), Result: []byte(`{"exit_code":0}`)}
}

// together calls f n times at once and waits for all.
func together(n int, f func(i int)) {
	var wg sync.WaitGroup
	gate := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-gate
			f(i)
		})
	}
	close(gate)
	wg.Wait()
}
