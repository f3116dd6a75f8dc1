package dispatch_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
)

// TestChaos lets runners on two hubs vanish, fail, repeat and give back at random
// while a person cancels and time jumps, and then looks at what is left: every job ended
// once, no attempt lives, and each was given to one runner.
func TestChaos(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t, withPolicy(func(p *hub.Policy) { p.MaxRunning = 4; p.NoRunnerTimeout = 1000 * time.Hour }))
		hubs := []*dispatch.Service{w.s, w.hub(t.open(), withPolicy(func(p *hub.Policy) { p.MaxRunning = 4; p.NoRunnerTimeout = 1000 * time.Hour }))}
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		const jobs = 25
		var ids []string
		for range jobs {
			ids = append(ids, w.submit(specText("image: busybox\nretry: {max_attempts: 10}\n")).ID)
		}
		ctx, stop := context.WithCancel(w.ctx)
		defer stop()
		var wg sync.WaitGroup
		for i := range 6 {
			m := w.machine(self(w.ann))
			m.s = hubs[i%2]
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			wg.Go(func() {
				for ctx.Err() == nil {
					m.work(ctx, r, hubs[r.IntN(2)])
				}
			})
		}
		r := rand.New(rand.NewPCG(seed, 99))
		for active := true; active; {
			w.clock.advance(time.Duration(r.IntN(20)) * time.Second)
			w.must(hubs[r.IntN(2)].Sweep(w.ctx))
			if r.IntN(10) == 0 {
				if _, err := hubs[0].Cancel(w.ctx, w.ann, ids[r.IntN(jobs)], "chaos"); err != nil && hub.CodeOf(err) != hub.AlreadySettled {
					w.Errorf("cancel: %v", err)
				}
			}
			l, err := w.s.List(w.ctx, w.ann, dispatch.ListRequest{States: []hub.JobState{hub.JobQueued, hub.JobLeased, hub.JobRunning}, Limit: 1})
			w.must(err)
			active = len(l.Jobs) > 0
		}
		stop()
		wg.Wait()
		for _, id := range ids {
			w.endedOnce(id)
		}
	})
}

// work is one random thing that a runner does.
func (m *machine) work(ctx context.Context, r *rand.Rand, other *dispatch.Service) {
	call, cancel := context.WithCancel(ctx)
	defer cancel()
	req := dispatch.LeaseRequest{RequestID: newRequest(), Wait: time.Duration(r.IntN(20)) * time.Millisecond, Presence: m.presence}
	if r.IntN(5) == 0 { // its client vanishes at some moment
		d := time.Duration(r.IntN(5000)) * time.Microsecond
		call, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	got, err := m.s.Lease(call, m.p, req)
	if err != nil || got.Lease == nil {
		m.fine(err)
		return
	}
	l := got.Lease
	if r.IntN(4) == 0 { // the answer was lost, and the repeat goes to another hub
		again, err := other.Lease(ctx, m.p, req)
		m.fine(err)
		if err == nil && again.Lease != nil {
			l = again.Lease
		}
	}
	if r.IntN(8) == 0 {
		return // it forgets the lease
	}
	b, err := other.Heartbeat(ctx, m.p, dispatch.HeartbeatRequest{JobID: l.JobID, Proof: l.Proof, Phase: "running"})
	m.fine(err)
	switch {
	case err != nil || b.State == dispatch.HeartbeatStale:
	case b.State == dispatch.HeartbeatCancel:
		report := success(l)
		report.State = hub.JobCanceled
		_, err = m.s.Settle(ctx, m.p, report)
		m.fine(err)
	case r.IntN(4) == 0:
		_, err = m.s.Settle(ctx, m.p, failure(l, hub.ClassImagePull))
		m.fine(err)
	case r.IntN(4) == 0:
		m.fine(m.s.Release(ctx, m.p, dispatch.ReleaseRequest{JobID: l.JobID, Proof: l.Proof}))
	case r.IntN(8) == 0: // it dies
	default:
		_, err = m.s.Settle(ctx, m.p, success(l))
		m.fine(err)
		_, err = other.Settle(ctx, m.p, success(l)) // and again, as if the answer was lost
		m.fine(err)
	}
}

// fine checks that a call failed in one of the ways that a runner must expect.
func (m *machine) fine(err error) {
	switch {
	case err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
	default:
		switch hub.CodeOf(err) {
		case hub.StaleLease, hub.AlreadySettled, hub.Unavailable:
		default:
			m.Errorf("a runner's call: %v", err)
		}
	}
}

func (w *world) endedOnce(id string) {
	w.Helper()
	j := w.job(id)
	if !j.State.Ended() {
		w.Errorf("%s is %s", id, j.State)
	}
	events, err := w.store.ListEvents(w.ctx, id)
	w.must(err)
	ends, leases := 0, 0
	for _, e := range events {
		switch e.Action {
		case hub.ActJobSucceeded, hub.ActJobFailed, hub.ActJobCanceled, hub.ActJobTimedOut, hub.ActJobRejected:
			ends++
		case hub.ActJobLeased:
			leases++
		}
	}
	attempts, err := w.store.ListAttempts(w.ctx, id)
	w.must(err)
	if ends != 1 || leases != len(attempts) || j.Attempt != len(attempts) {
		w.Errorf("%s ended %d times, with %d leases for %d attempts", id, ends, leases, len(attempts))
	}
	for _, a := range attempts {
		if a.State.Live() {
			w.Errorf("attempt %d of %s still lives", a.Number, id)
		}
	}
}
