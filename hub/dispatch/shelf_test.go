package dispatch_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
)

// readingStore counts how often a queue is read, and lets tests act in the middle of it.
type readingStore struct {
	hub.Store
	reads atomic.Int32
	after func() // once what is queued was read
}

func (r *readingStore) ListQueued(ctx context.Context, k hub.QueueKey, after *hub.QueuePos, limit int) ([]hub.QueuedJob, error) {
	r.reads.Add(1)
	jobs, err := r.Store.ListQueued(ctx, k, after, limit)
	if r.after != nil {
		r.after()
	}
	return jobs, err
}

func newReading(t backend, opts ...option) (*world, *readingStore) {
	t.Helper()
	st := &readingStore{}
	w := newWorld(t, append(opts, withStore(func(s hub.Store) hub.Store { st.Store = s; return st }))...)
	return w, st
}

func withPriority(n int) func(*dispatch.SubmitRequest) {
	return func(r *dispatch.SubmitRequest) { r.Priority = n }
}

// drained leases until nothing is left, and returns the jobs in the order in which they went.
func (m *machine) drained() (ids []string) {
	m.Helper()
	for {
		r, err := m.lease(0)
		m.must(err)
		if r.Lease == nil {
			return ids
		}
		ids = append(ids, r.Lease.JobID)
	}
}

func TestAQueueIsReadOnceForManyJobs(t *testing.T) {
	onStores(t, func(t backend) {
		w, st := newReading(t)
		m := w.machine(self(w.ann))
		var want []string
		for range 30 {
			want = append(want, w.submit().ID)
		}
		wantOrder(w, m.drained(), want)
		// The runner's own queue and the pool, before the first job and after the last.
		if n := st.reads.Load(); n > 5 {
			t.Errorf("the queues were read %d times for 30 jobs", n)
		}
	})
}

func wantOrder(w *world, got, want []string) {
	w.Helper()
	if len(got) != len(want) {
		w.Fatalf("%d jobs went, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			w.Fatalf("job %d was %s, want %s", i, got[i], want[i])
		}
	}
}

func TestARememberedHeadKeepsTheOrder(t *testing.T) {
	onStores(t, func(t backend) {
		w, st := newReading(t)
		m := w.machine(self(w.ann))
		first, second, third := w.submit(), w.submit(), w.submit()
		l := m.take() // from here on the head is known
		if l.JobID != first.ID {
			t.Fatalf("got %s", l.JobID)
		}
		reads := st.reads.Load()
		urgent := w.submit(withPriority(50))
		_, err := w.s.Cancel(w.ctx, w.ann, second.ID, "")
		w.must(err)
		m.begin(l)
		if got := m.settle(failure(l, hub.ClassImagePull)); !got.Requeued { // to its old place
			t.Fatalf("%+v", got)
		}
		last := w.submit()
		for _, want := range []string{urgent.ID, first.ID, third.ID, last.ID} {
			if l := m.take(); l.JobID != want {
				t.Fatalf("got %s, want %s", l.JobID, want)
			}
		}
		if n := st.reads.Load(); n != reads {
			t.Errorf("the queue was read %d times more", n-reads)
		}
		m.none()
	})
}

func TestWhatComesWhileAHeadIsReadKeepsTheOrder(t *testing.T) {
	onStores(t, func(t backend) {
		w, st := newReading(t)
		m := w.machine(self(w.ann))
		first, second := w.submit(), w.submit()
		var urgent hub.Job
		st.after = func() {
			st.after = nil
			urgent = w.submit(withPriority(50))
			_, err := w.s.Cancel(w.ctx, w.ann, second.ID, "")
			w.must(err)
		}
		if l := m.take(); l.JobID != urgent.ID { // it is the runner's own queue that was read first
			t.Errorf("got %s", l.JobID)
		}
		st.after = func() { // nothing more is read
			t.Error("the queue was read")
		}
		if l := m.take(); l.JobID != first.ID {
			t.Errorf("got %s", l.JobID)
		}
		st.after = nil
		m.none()
	})
}

// A head that is remembered may be others' by now.
func TestHubsThatShareAQueueLoseAndRepeatNothing(t *testing.T) {
	onPostgres(t, func(t backend) {
		w, st := newReading(t)
		other := w.hub(t.open())
		a, b := w.machine(self(w.ann)), w.machine(self(w.ann))
		b.s = other
		var want []string
		for range 12 {
			want = append(want, w.submit().ID)
		}
		var got []string
		for range 6 { // neither hub is told of what the other takes
			got = append(got, a.take().JobID, b.take().JobID)
		}
		wantOrder(w, got, want)
		reads := st.reads.Load()
		if reads < 6 {
			t.Errorf("a head that another hub takes from was relied on: %d reads", reads)
		}
		a.none()
		b.none()
	})
}

func TestARememberedHeadIsReadAgainAfterASecond(t *testing.T) {
	onPostgres(t, func(t backend) {
		w, _ := newReading(t)
		other := w.hub(t.open()) // whose hints nobody hears
		m := w.machine(self(w.ann))
		first, second := w.submit(), w.submit()
		m.take()
		r, err := other.Submit(w.ctx, w.ann, request(withPriority(50)))
		w.must(err)
		w.clock.advance(2 * time.Second)
		if l := m.take(); l.JobID != r.Job.Job.ID {
			t.Errorf("got %s, neither the urgent job nor %s nor %s", l.JobID, first.ID, second.ID)
		}
	})
}
