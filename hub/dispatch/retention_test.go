package dispatch_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/hub/memory"
)

func keep(d time.Duration) option {
	return withPolicy(func(p *hub.Policy) { p.Retention, p.LogGrace, p.MaxRunning = d, time.Minute, 1000 })
}

// logged runs a job to its end, with a log of two chunks.
func (m *machine) logged() hub.Job {
	m.Helper()
	job := m.submit()
	l := m.take()
	m.begin(l)
	for at, line := range []string{"a", "b"} {
		_, err := m.s.AppendLog(m.ctx, hub.Digest(l.LogToken), int64(at), []byte(line))
		m.must(err)
	}
	m.settle(success(l))
	return m.wantState(job.ID, hub.JobSucceeded)
}

func (w *world) blobs(jobID string) int {
	n := 0
	for _, key := range w.bucket.(*memory.Bucket).Keys() {
		if strings.HasPrefix(key, "logs/"+jobID+"/") {
			n++
		}
	}
	return n
}

func (w *world) wantGone(id string) {
	w.Helper()
	_, err := w.store.GetJob(w.ctx, id)
	w.wantCode(err, hub.NotFound)
	if n := w.blobs(id); n != 0 {
		w.Errorf("%d blobs of a job that is gone", n)
	}
}

func TestOldJobsGoAndNothingElse(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t, keep(time.Hour))
		m := w.machine(self(w.ann))
		old := m.logged()
		running := w.submit()
		l := m.take()
		m.begin(l)
		waiting := w.submit(target(m.p.Runner.ID))
		w.clock.advance(time.Hour - time.Second)
		young := w.machine(self(w.ann)).logged()
		if n, err := w.s.Retain(w.ctx); err != nil || n != 0 {
			t.Fatalf("%d jobs were deleted a second too early, error %v", n, err)
		}
		w.clock.advance(2 * time.Second)
		if n, err := w.s.Retain(w.ctx); err != nil || n != 1 {
			t.Fatalf("%d jobs were deleted, error %v", n, err)
		}
		w.wantGone(old.ID)
		w.wantState(running.ID, hub.JobRunning)
		w.wantState(waiting.ID, hub.JobQueued)
		w.wantState(young.ID, hub.JobSucceeded)
		if n := w.blobs(young.ID); n != 2 {
			t.Errorf("%d blobs of a young job", n)
		}
		_, err := w.s.Get(w.ctx, w.ann, old.ID)
		w.wantCode(err, hub.NotFound)
	})
}

func TestJobsAreKeptWhereNothingElseIsSaid(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t, keep(0))
		job := w.machine(self(w.ann)).logged()
		w.clock.advance(1000 * 24 * time.Hour)
		if n, err := w.s.Retain(w.ctx); err != nil || n != 0 {
			t.Fatalf("%d jobs were deleted, error %v", n, err)
		}
		w.wantState(job.ID, hub.JobSucceeded)
	})
}

// A log may grow for its grace, however short a time jobs are kept for.
func TestALogThatMayGrowIsKept(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t, keep(time.Second))
		job := w.machine(self(w.ann)).logged()
		w.clock.advance(time.Minute)
		if n, err := w.s.Retain(w.ctx); err != nil || n != 0 {
			t.Fatalf("%d jobs were deleted, error %v", n, err)
		}
		w.wantState(job.ID, hub.JobSucceeded)
	})
}

var errKilled = errors.New("killed")

// mortal is a store and a bucket of a hub that dies at one of its calls, and answers nothing from then on.
type mortal struct {
	hub.Store
	hub.Bucket
	left int
}

func (m *mortal) die() error {
	if m.left--; m.left < 0 {
		return errKilled
	}
	return nil
}

func (m *mortal) Close() error { return nil }

func (m *mortal) DeleteAll(ctx context.Context, folder string, keep ...string) error {
	if err := m.die(); err != nil {
		return err
	}
	return m.Bucket.DeleteAll(ctx, folder, keep...)
}

func (m *mortal) DeleteKeys(ctx context.Context, before time.Time, after hub.KeyPos, limit int) (hub.KeyPos, error) {
	if err := m.die(); err != nil {
		return hub.KeyPos{}, err
	}
	return m.Store.DeleteKeys(ctx, before, after, limit)
}

func (m *mortal) DeleteJobs(ctx context.Context, before time.Time, ids []string) (int, error) {
	if err := m.die(); err != nil {
		return 0, err
	}
	return m.Store.DeleteJobs(ctx, before, ids)
}

// Wherever a hub dies, no bytes are left that no job names, and the next one goes on.
func TestRetentionIsKilledAnywhere(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t, keep(time.Hour))
		m := w.machine(self(w.ann))
		const jobs = 3
		for step := range jobs + 2 { // the keys, each job's bytes, the rows
			var ids []string
			for range jobs {
				ids = append(ids, m.logged().ID)
			}
			dying := &mortal{Store: w.store, Bucket: w.bucket, left: step}
			w.clock.advance(2 * time.Hour)
			killed := w.hub(dying, keep(time.Hour), func(_ *world, c *dispatch.Config) { c.Bucket = dying })
			if _, err := killed.Retain(w.ctx); !errors.Is(err, errKilled) {
				t.Fatalf("step %d: error %v", step, err)
			}
			left := 0
			for _, id := range ids {
				if _, err := w.store.GetJob(w.ctx, id); err == nil {
					left++
				} else if n := w.blobs(id); n != 0 {
					t.Errorf("step %d: a job is gone and %d of its blobs are there", step, n)
				}
			}
			if n, err := w.s.Retain(w.ctx); err != nil || n != left {
				t.Fatalf("step %d: then %d of %d jobs were deleted, error %v", step, n, left, err)
			}
			for _, id := range ids {
				w.wantGone(id)
			}
		}
	})
}

// A folder of bytes that cannot be deleted keeps its job, and no other.
func TestRetentionGoesOnAfterAFault(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t, keep(time.Hour))
		m := w.machine(self(w.ann))
		bad, good := m.logged(), m.logged()
		w.clock.advance(2 * time.Hour)
		s := w.hub(w.store, keep(time.Hour), func(_ *world, c *dispatch.Config) { c.Bucket = stuck{w.bucket, bad.ID} })
		if n, err := s.Retain(w.ctx); err == nil || n != 1 {
			t.Fatalf("%d jobs were deleted, error %v", n, err)
		}
		w.wantState(bad.ID, hub.JobSucceeded)
		w.wantGone(good.ID)
	})
}

type stuck struct {
	hub.Bucket
	jobID string
}

func (s stuck) DeleteAll(ctx context.Context, folder string, keep ...string) error {
	if strings.HasSuffix(folder, s.jobID) {
		return errors.New("permission denied")
	}
	return s.Bucket.DeleteAll(ctx, folder, keep...)
}

// The queue is served while many old jobs go, and loses nothing.
func TestRetentionBesideALiveQueue(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t, keep(time.Hour))
		m := w.machine(self(w.ann))
		var old []string
		for range 60 { // more than one page
			old = append(old, m.logged().ID)
		}
		w.clock.advance(2 * time.Hour)
		swept := beside(func() (int, error) { return w.s.Retain(w.ctx) })
		var young []string
		for range 20 {
			young = append(young, m.logged().ID)
		}
		if n, err := get(w, swept); err != nil || n != len(old) {
			t.Errorf("%d of %d jobs were deleted, error %v", n, len(old), err)
		}
		for _, id := range old {
			w.wantGone(id)
		}
		for _, id := range young {
			w.wantState(id, hub.JobSucceeded)
			if n := w.blobs(id); n != 2 {
				t.Errorf("%d blobs of a young job", n)
			}
		}
	})
}

// The same request is a new job once the one that it made is gone, and not before.
func TestAKeyLivesAsLongAsItsJob(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t, keep(time.Hour))
		m := w.machine(self(w.ann))
		again := func() hub.Job {
			w.Helper()
			r, err := w.s.Submit(w.ctx, w.ann, request(func(r *dispatch.SubmitRequest) { r.IdempotencyKey = "deploy-7" }))
			w.must(err)
			return r.Job.Job
		}
		first := again()
		l := m.take()
		m.begin(l)
		m.settle(success(l))
		w.clock.advance(59 * time.Minute)
		_, err := w.s.Retain(w.ctx)
		w.must(err)
		if j := again(); j.ID != first.ID {
			t.Fatal("the job was made again while it was there")
		}
		w.clock.advance(2 * time.Minute)
		_, err = w.s.Retain(w.ctx)
		w.must(err)
		w.wantGone(first.ID)
		second := again()
		if second.ID == first.ID || second.State != hub.JobQueued {
			t.Errorf("the request again is %+v", second)
		}
		if jobs, err := w.store.ListJobs(w.ctx, hub.JobFilter{Owners: []hub.Owner{self(w.ann)}, Limit: 10}); err != nil ||
			!slices.ContainsFunc(jobs, func(q hub.QueuedJob) bool { return q.Job.ID == second.ID }) || len(jobs) != 1 {
			t.Errorf("%d jobs, error %v", len(jobs), err)
		}
	})
}

// A hub that is killed while it drops the middle of a log leaves no bytes that nothing names.
func TestTheMiddleOfALogIsDroppedBytesFirst(t *testing.T) {
	onStores(t, func(t backend) {
		small := withPolicy(func(p *hub.Policy) { p.MaxLogBytes = 4 })
		w := newWorld(t, small)
		m := w.machine(self(w.ann))
		job := w.submit()
		l := m.take()
		m.begin(l)
		dying := w.hub(keepsRows{w.store}, small)
		for i, b := range []byte("0123456789") {
			s := dying
			if i == 9 {
				s = w.s // the next hub drops what the dead one has left
			}
			if _, err := s.AppendLog(w.ctx, hub.Digest(l.LogToken), int64(i), []byte{b}); err != nil {
				t.Fatal(err)
			}
			chunks, err := w.store.LogChunks(w.ctx, job.ID, 1, 0, 100)
			w.must(err)
			if n := w.blobs(job.ID); n > len(chunks) {
				t.Errorf("after %d bytes %d blobs have %d rows", i+1, n, len(chunks))
			}
		}
		chunks, err := w.store.LogChunks(w.ctx, job.ID, 1, 0, 100)
		w.must(err)
		if n := w.blobs(job.ID); n != 4 || len(chunks) != 4 {
			t.Errorf("%d blobs and %d rows are left of a log that keeps 4 bytes", n, len(chunks))
		}
	})
}

// keepsRows is the store of a hub that is killed before it drops rows of a log.
type keepsRows struct{ hub.Store }

func (keepsRows) DropLogChunks(context.Context, string, int, []int64) error { return errKilled }
