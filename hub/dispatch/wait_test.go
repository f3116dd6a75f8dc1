package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
)

func (w *world) wait(r dispatch.WaitRequest) dispatch.WaitResult {
	w.Helper()
	out, err := w.s.Wait(w.ctx, w.ann, r)
	w.must(err)
	return out
}

func TestWaitFollowsAJob(t *testing.T) {
	onStores(t, func(t backend) { w := newWorld(t); followsAJob(w, w.s.Wait) })
}

// A call that leaves its stack while it waits hears the same.
func TestParkedWaitFollowsAJob(t *testing.T) {
	onStores(t, func(t backend) { w := newWorld(t); followsAJob(w, w.waitParked) })
}

// waitParked is Wait for a caller that parks it. The context of each call ends with it, as a library's may.
func (w *world) waitParked(ctx context.Context, p hub.Principal, r dispatch.WaitRequest) (dispatch.WaitResult, error) {
	ctx, parking := dispatch.WithParking(ctx)
	for {
		call, end := context.WithCancel(ctx)
		out, err := w.s.Wait(call, p, r)
		end()
		if parking.Parked() != errors.Is(err, dispatch.ErrParked) {
			return out, fmt.Errorf("parked is %v: %w", parking.Parked(), err)
		}
		if !parking.Parked() {
			return out, err
		}
		parking.Await()
	}
}

func TestParkedWaitEnds(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		job := w.submit()
		r := dispatch.WaitRequest{JobID: job.ID, Cursor: w.wait(dispatch.WaitRequest{JobID: job.ID}).NextCursor, Wait: 20 * time.Millisecond, UntilEnd: true}
		out, err := w.waitParked(w.ctx, w.ann, r)
		w.must(err)
		if out.Done || out.Job.State != hub.JobQueued || out.NextCursor != r.Cursor {
			t.Errorf("when its time is over: %+v", out)
		}
		r.Wait = time.Hour
		ctx, leave := context.WithCancel(w.ctx)
		gone := beside(func() (dispatch.WaitResult, error) { return w.waitParked(ctx, w.ann, r) })
		w.until("it is held", func() bool { return w.s.Watching(job.ID) > 0 })
		leave()
		if _, err := get(w, gone); err == nil {
			t.Error("it outlives its caller")
		}
		if n := w.s.Watching(job.ID); n > 0 {
			t.Errorf("%d still watch the job", n)
		}
		held := beside(func() (dispatch.WaitResult, error) { return w.waitParked(w.ctx, w.ann, r) })
		w.until("it is held", func() bool { return w.s.Watching(job.ID) > 0 })
		w.s.Drain()
		_, err = get(w, held)
		w.wantCode(err, hub.Draining)
	})
}

func followsAJob(w *world, wait func(context.Context, hub.Principal, dispatch.WaitRequest) (dispatch.WaitResult, error)) {
	job := w.submit()
	r := w.wait(dispatch.WaitRequest{JobID: job.ID, Wait: time.Hour})
	if r.Job.State != hub.JobQueued || r.Done || r.NextCursor == "" {
		w.Errorf("without a cursor: %+v", r)
	}
	next := func() <-chan answer[dispatch.WaitResult] {
		n := w.s.Watching(job.ID)
		ch := beside(func() (dispatch.WaitResult, error) {
			return wait(w.ctx, w.ann, dispatch.WaitRequest{JobID: job.ID, Cursor: r.NextCursor, Wait: time.Hour})
		})
		w.until("it is held", func() bool { return w.s.Watching(job.ID) > n })
		return ch
	}
	hear := func(ch <-chan answer[dispatch.WaitResult]) {
		w.Helper()
		var err error
		r, err = get(w, ch)
		w.must(err)
	}
	m := w.machine(self(w.ann))
	ch := next()
	g := &logged{machine: m, l: m.take()}
	if hear(ch); r.Job.State != hub.JobLeased {
		w.Errorf("after the lease: %+v", r)
	}
	ch = next()
	m.begin(g.l)
	if hear(ch); r.Job.State != hub.JobRunning || r.Job.Step != "test" {
		w.Errorf("after the first heartbeat: %+v", r)
	}
	ch = next()
	g.write(record("one"))
	hear(ch)
	w.wantTexts(r.Lines, "one")
	ch = next()
	g.write(record("two")[:10])
	g.write(record("two")[10:])
	hear(ch)
	w.wantTexts(r.Lines, "two") // half a line is no news
	ch = next()
	m.settle(dispatch.SettleRequest{
		JobID: job.ID, Proof: g.l.Proof, State: hub.JobSucceeded,
		Result: fmt.Appendf(nil, `{"status":"succeeded","log_bytes":%d}`, g.size+int64(len(record("three")))),
	})
	if hear(ch); r.Job.State != hub.JobSucceeded || r.Done || len(r.Result) == 0 {
		w.Errorf("its log is not all there: %+v", r)
	}
	ch = next()
	g.write(record("three"))
	if hear(ch); !r.Done {
		w.Errorf("all is there: %+v", r)
	}
	w.wantTexts(r.Lines, "three")
	if r := w.wait(dispatch.WaitRequest{JobID: job.ID, Cursor: r.NextCursor, Wait: time.Hour}); !r.Done || len(r.Lines) > 0 {
		w.Errorf("after the end: %+v", r)
	}
	r = w.wait(dispatch.WaitRequest{JobID: job.ID, Cursor: "start", Wait: time.Hour})
	w.wantTexts(r.Lines, "one", "two", "three")
	r = w.wait(dispatch.WaitRequest{JobID: job.ID})
	w.wantTexts(r.Lines, "one", "two", "three")
	if !r.Done || r.Omitted != 0 {
		w.Errorf("%+v", r)
	}
}

func TestWaitGivesUpOnLogBytesThatNeverCome(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		g := newLogged(w)
		g.write(record("one")[:20])
		g.settle(dispatch.SettleRequest{JobID: g.l.JobID, Proof: g.l.Proof, State: hub.JobSucceeded, Result: []byte(`{"log_bytes":1000}`)})
		r := w.wait(dispatch.WaitRequest{JobID: g.l.JobID, Cursor: "start"})
		if r.Done {
			t.Errorf("not all is there: %+v", r)
		}
		w.clock.advance(6 * time.Second)
		r = w.wait(dispatch.WaitRequest{JobID: g.l.JobID, Cursor: r.NextCursor, Wait: time.Hour})
		if !r.Done || len(r.Lines) != 1 { // what there is of the line is shown now
			t.Errorf("%+v", r)
		}
		// Without moving the clock by hand a held call ends by itself.
		w.s.SetLogWait(time.Millisecond)
		if r := w.wait(dispatch.WaitRequest{JobID: g.l.JobID, Cursor: "start", UntilEnd: true, Wait: time.Hour}); !r.Done {
			t.Errorf("%+v", r)
		}
	})
}

func TestWaitUntilTheEnd(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		g := newLogged(w)
		ch := beside(func() (dispatch.WaitResult, error) {
			return w.s.Wait(w.ctx, w.ann, dispatch.WaitRequest{JobID: g.l.JobID, Wait: time.Hour, UntilEnd: true})
		})
		w.until("it is held", func() bool { return w.s.Watching(g.l.JobID) == 1 })
		g.write(record("one"))
		g.begin(g.l)
		g.settle(success(g.l))
		r, err := get(w, ch)
		w.must(err)
		if !r.Done || len(r.Result) == 0 {
			t.Errorf("%+v", r)
		}
		w.wantTexts(r.Lines, "one")
		// Submit with a wait is the same.
		sub := beside(func() (dispatch.SubmitResult, error) {
			return w.s.Submit(w.ctx, w.ann, request(func(r *dispatch.SubmitRequest) { r.Wait = time.Hour }))
		})
		got, err := get(w, beside(func() (dispatch.LeaseResult, error) { return g.lease(time.Hour) }))
		w.must(err)
		g.begin(got.Lease)
		g.settle(success(got.Lease))
		s, err := get(w, sub)
		w.must(err)
		if s.Job.Job.State != hub.JobSucceeded || len(s.Job.Result) == 0 {
			t.Errorf("%+v", s.Job.Job)
		}
	})
}

func TestWaitGoesThroughAllAttempts(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		g := newLogged(w)
		g.write(record("first try"))
		g.settle(failure(g.l, hub.ClassImagePull))
		r := w.wait(dispatch.WaitRequest{JobID: g.l.JobID, Cursor: "start"})
		w.wantTexts(r.Lines, "first try")
		again := &logged{machine: g.machine, l: g.take()}
		again.begin(again.l)
		again.write(record("second try"))
		again.settle(success(again.l))
		all := w.wait(dispatch.WaitRequest{JobID: g.l.JobID, Cursor: "start"})
		w.wantTexts(all.Lines, "first try", "[attempt 1 failed; attempt 2 follows]", "second try")
		rest := w.wait(dispatch.WaitRequest{JobID: g.l.JobID, Cursor: r.NextCursor})
		w.wantTexts(rest.Lines, "[attempt 1 failed; attempt 2 follows]", "second try")
		if !rest.Done || !all.Done {
			t.Error("not done")
		}
		w.wantTexts(again.read(dispatch.ReadLogRequest{Attempt: 1}).Lines, "first try")
		w.wantTexts(again.read(dispatch.ReadLogRequest{}).Lines, "second try")
	})
}

func TestWaitPagesALongLog(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		g := newLogged(w)
		var chunk []byte
		for i := range 1500 {
			chunk = append(chunk, record("%04d %s", i, strings.Repeat("x", 50))...)
		}
		g.write(chunk)
		g.settle(success(g.l))
		n, cur := 0, "start"
		for calls := 0; ; calls++ {
			r := w.wait(dispatch.WaitRequest{JobID: g.l.JobID, Cursor: cur, Wait: time.Hour, UntilEnd: calls%2 == 0})
			for _, l := range r.Lines {
				if !strings.HasPrefix(string(l.Text), fmt.Sprintf("%04d ", n)) {
					t.Fatalf("line %d is %q", n, l.Text)
				}
				n++
			}
			if cur = r.NextCursor; r.Done {
				break
			}
			if calls > 30 {
				t.Fatal("it does not end")
			}
		}
		if n != 1500 {
			t.Errorf("%d lines", n)
		}
		tail := w.wait(dispatch.WaitRequest{JobID: g.l.JobID})
		if len(tail.Lines) != 100 || tail.Omitted == 0 || !tail.Done {
			t.Errorf("%d lines, %d bytes left out", len(tail.Lines), tail.Omitted)
		}
	})
}

func TestWaitOfAJobThatNeverRan(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		job := w.submit()
		_, err := w.s.Cancel(w.ctx, w.ann, job.ID, "")
		w.must(err)
		for _, cur := range []string{"", "start"} {
			r := w.wait(dispatch.WaitRequest{JobID: job.ID, Cursor: cur, Wait: time.Hour, UntilEnd: true})
			if !r.Done || r.Job.State != hub.JobCanceled {
				t.Errorf("%q: %+v", cur, r)
			}
		}
		_, err = w.s.Wait(w.ctx, w.ann, dispatch.WaitRequest{JobID: job.ID, Cursor: "rubbish"})
		w.wantCode(err, hub.InvalidArgument)
	})
}

func TestAReaderOfAnotherHubIsWoken(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(t backend) {
		w := newWorld(t)
		other := w.hub(t.open())
		w.run(w.s)
		w.run(other)
		g := newLogged(w)
		r := w.wait(dispatch.WaitRequest{JobID: g.l.JobID})
		ch := beside(func() (dispatch.WaitResult, error) {
			return other.Wait(w.ctx, w.ann, dispatch.WaitRequest{JobID: g.l.JobID, Cursor: r.NextCursor, Wait: time.Hour})
		})
		w.until("it is held", func() bool { return other.Watching(g.l.JobID) == 1 })
		g.write(record("one"))
		got, err := get(w, ch)
		w.must(err)
		w.wantTexts(got.Lines, "one")
	})
}

func TestAWaiterOfAnotherHubIsWoken(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(t backend) {
		w := newWorld(t)
		other := w.hub(t.open())
		w.run(w.s)
		w.run(other)
		m := w.machine(self(w.ann))
		m.s = other
		c := w.call(m)
		job := w.submit()
		got, err := get(w, c.ch)
		w.must(err)
		if got.Lease == nil || got.Lease.JobID != job.ID {
			t.Errorf("%+v", got)
		}
	})
}
