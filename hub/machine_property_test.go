package hub_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/runnerhub/runnerhub/hub"
)

// world drives one job with random events and keeps what a store would.
type world struct {
	job      hub.Job
	payload  hub.JobPayload
	policy   hub.Policy
	now      time.Time
	attempts []hub.Attempt
	nonces   []string // by attempt
	settled  int
	deadline time.Time // of the live attempt, as it was given
	renewed  time.Time // of the live attempt's last heartbeat, zero before
}

// TestMachineKeepsItsInvariants throws events at one job in any order, by holders
// of any lease, old ones too.
func TestMachineKeepsItsInvariants(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := &world{
			job: queued(), payload: payload(), policy: policy(), now: t0,
		}
		w.job.MaxAttempts = rapid.IntRange(1, 4).Draw(t, "max attempts")
		w.payload.Timeout = time.Duration(rapid.IntRange(1, 300).Draw(t, "timeout")) * time.Second
		if rapid.Bool().Draw(t, "named") {
			w.job.RunnerID = "rnr-1"
		}
		t.Repeat(map[string]func(*rapid.T){
			"tick":      w.tick,
			"lease":     w.lease,
			"heartbeat": w.heartbeat,
			"settle":    w.settle,
			"release":   w.release,
			"cancel": func(t *rapid.T) {
				w.take(t, func() (hub.Decision, error) { return hub.Cancel(w.job, w.payload, "", w.now, w.policy) })
			},
			"reject": func(t *rapid.T) {
				w.take(t, func() (hub.Decision, error) { return hub.Reject(w.job, hub.Failure{Class: hub.ClassNoRunner}, w.now) })
			},
			"sweep": w.sweep,
			"":      w.check,
		})
	})
}

func (w *world) tick(t *rapid.T) {
	w.now = w.now.Add(time.Duration(rapid.IntRange(1, 90).Draw(t, "seconds")) * time.Second)
}

func (w *world) lease(t *rapid.T) {
	n := fmt.Sprintf("nonce %d", len(w.attempts)+1)
	g := grant()
	g.Digest = hub.Digest(n)
	if w.take(t, func() (hub.Decision, error) { return hub.Lease(w.job, w.payload, g, w.now, w.policy) }) {
		w.nonces = append(w.nonces, n)
		w.deadline, w.renewed = w.job.DeadlineAt, time.Time{}
	}
}

// proof is that of any attempt so far.
func (w *world) proof(t *rapid.T) hub.Proof {
	if len(w.attempts) == 0 {
		return hub.Proof{Attempt: 1, Epoch: 1, Nonce: "guessed"}
	}
	i := rapid.IntRange(0, len(w.attempts)-1).Draw(t, "attempt")
	return hub.Proof{Attempt: i + 1, Epoch: w.attempts[i].Epoch, Nonce: w.nonces[i]}
}

func (w *world) heartbeat(t *rapid.T) {
	p := w.proof(t)
	if w.take(t, func() (hub.Decision, error) {
		return hub.Heartbeat(w.job, w.payload, p, "running", "", "", w.now, w.policy)
	}) {
		w.holder(t, p)
		w.renewed = w.now
	}
}

func (w *world) settle(t *rapid.T) {
	p := w.proof(t)
	r := hub.Report{State: rapid.SampledFrom([]hub.JobState{hub.JobSucceeded, hub.JobFailed, hub.JobCanceled, hub.JobTimedOut}).Draw(t, "report")}
	if r.State != hub.JobSucceeded {
		r.Failure = &hub.Failure{Class: rapid.SampledFrom([]hub.Class{hub.ClassScript, hub.ClassImagePull, hub.ClassTimeout}).Draw(t, "class")}
	}
	if w.take(t, func() (hub.Decision, error) { return hub.Settle(w.job, w.payload, p, r, w.now) }) {
		w.holder(t, p)
	}
}

func (w *world) release(t *rapid.T) {
	p := w.proof(t)
	if w.take(t, func() (hub.Decision, error) { return hub.Release(w.job, p, "", w.now) }) {
		w.holder(t, p)
	}
}

func (w *world) sweep(t *rapid.T) {
	before := w.job
	gone := rapid.Bool().Draw(t, "gone")
	if !w.take(t, func() (hub.Decision, error) { return hub.Expire(w.job, w.payload, gone, w.now), nil }) || gone {
		return
	}
	// A job that heartbeats in time is left alone until its deadline.
	inTime := !w.renewed.IsZero() && w.now.Before(w.renewed.Add(w.policy.LeaseTTL))
	if inTime && w.now.Before(w.deadline) && before.CancelRequestedAt.IsZero() {
		t.Fatalf("taken away %v after a heartbeat, %v before the deadline", w.now.Sub(w.renewed), w.deadline.Sub(w.now))
	}
}

// holder checks that only the latest attempt's own proof changes anything.
func (w *world) holder(t *rapid.T, p hub.Proof) {
	if p.Attempt != len(w.attempts) || p.Nonce != w.nonces[p.Attempt-1] {
		t.Fatalf("the holder of attempt %d changed the job at attempt %d", p.Attempt, len(w.attempts))
	}
}

// take applies a decision as a store would; false when nothing changed.
func (w *world) take(t *rapid.T, decide func() (hub.Decision, error)) bool {
	d, err := decide()
	if err != nil {
		if c := hub.CodeOf(err); c == hub.Internal && !errors.Is(err, hub.ErrConflict) {
			t.Fatalf("an untyped error: %v", err)
		}
		return false
	}
	if d.Unchanged {
		return false
	}
	old := w.job
	if old.State.Ended() {
		t.Fatalf("a job that had ended as %s became %s", old.State, d.Job.State)
	}
	if d.Job.Epoch < old.Epoch || d.Job.Attempt < old.Attempt || d.Job.Losses < old.Losses || d.Job.Revision != old.Revision+1 {
		t.Fatalf("something shrank: %+v became %+v", old, d.Job)
	}
	if d.EndAttempt != nil {
		a := &w.attempts[len(w.attempts)-1]
		if !a.State.Live() {
			t.Fatalf("attempt %d ended twice", a.Number)
		}
		a.State = d.EndAttempt.State
	}
	if d.NewAttempt != nil {
		if d.Job.Epoch <= old.Epoch || d.NewAttempt.Number != len(w.attempts)+1 {
			t.Fatalf("attempt %d with epoch %d after epoch %d", d.NewAttempt.Number, d.Job.Epoch, old.Epoch)
		}
		w.attempts = append(w.attempts, *d.NewAttempt)
	}
	if d.Job.State.Ended() {
		w.settled++
	}
	w.job = d.Job
	return true
}

func (w *world) check(t *rapid.T) {
	live := 0
	for _, a := range w.attempts {
		if a.State.Live() {
			live++
		}
	}
	j := w.job
	switch {
	case w.settled > 1:
		t.Fatalf("settled %d times", w.settled)
	case live > 1 || (live == 1) != j.State.Live():
		t.Fatalf("%d live attempts of a job that is %s", live, j.State)
	case j.Losses > j.MaxAttempts:
		t.Fatalf("%d losses of %d", j.Losses, j.MaxAttempts)
	case j.State.Live() && (!j.DeadlineAt.Equal(w.deadline) || j.LeaseExpiresAt.After(w.deadline)):
		t.Fatalf("the deadline %v became %v with a lease until %v", w.deadline, j.DeadlineAt, j.LeaseExpiresAt)
	case j.State == hub.JobQueued && (j.LeaseDigest != nil || !j.LeaseExpiresAt.IsZero() || !j.CancelRequestedAt.IsZero()):
		t.Fatalf("a queued job with a lease or a cancel: %+v", j)
	case j.State.Ended() && (j.Failure == nil) != (j.State == hub.JobSucceeded):
		t.Fatalf("%s with the failure %+v", j.State, j.Failure)
	}
}
