package hub_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/hub"
)

func holding() hub.JobPayload {
	p := payload()
	p.Hold = 10 * time.Minute
	return p
}

func report(class hub.Class) hub.HoldReport {
	code := 3
	return hub.HoldReport{Left: 5 * time.Minute, State: hub.JobFailed, ExitCode: &code, Failure: hub.Failure{Class: class, Message: "it broke"}}
}

// held is a running job whose runner holds it since t0+1m.
func held(t *testing.T, class hub.Class) hub.Job {
	t.Helper()
	p := holding()
	d, err := hub.Lease(queued(), p, grant(), t0, policy())
	if err == nil {
		d, err = hub.Heartbeat(d.Job, p, proof(d.Job), "running", "", "", t0.Add(time.Second), policy())
	}
	if err == nil {
		d, err = hub.Hold(d.Job, p, proof(d.Job), report(class), t0.Add(time.Minute), policy())
	}
	if err != nil {
		t.Fatal(err)
	}
	if d.Action != hub.ActJobHeld || d.EndAttempt != nil || d.Detail["reason"] != "it broke" {
		t.Fatalf("%+v", d)
	}
	return d.Job
}

func TestAHeldJobIsLiveAndSaysHowItFailed(t *testing.T) {
	t.Parallel()
	j := held(t, hub.ClassScript)
	code := 3
	want := &hub.Held{Until: t0.Add(6 * time.Minute), State: hub.JobFailed, ExitCode: &code}
	if d := cmp.Diff(want, j.Held); d != "" || j.State != hub.JobRunning || j.Phase != hub.PhaseHeld || j.Failure.Message != "it broke" {
		t.Fatalf("%+v\n%s", j, d)
	}
	if got := j.DeadlineAt.Sub(t0); got != 20*time.Minute+policy().DeadlineMargin {
		t.Errorf("the deadline is %s after the lease", got)
	}
	// Later words change neither the end of the hold nor the failure, whatever the runner says.
	again := report(hub.ClassOOM)
	again.Left = time.Hour
	d, err := hub.Hold(j, holding(), proof(j), again, t0.Add(2*time.Minute), policy())
	if err != nil || d.Action != "" || !d.Job.Held.Until.Equal(want.Until) || d.Job.Failure.Class != hub.ClassScript {
		t.Errorf("%+v, %v", d, err)
	}
	if want := t0.Add(2*time.Minute + policy().LeaseTTL); !d.Job.LeaseExpiresAt.Equal(want) {
		t.Errorf("the lease is renewed until %s, want %s", d.Job.LeaseExpiresAt, want)
	}
}

func TestAHoldIsBoundedAndAskedFor(t *testing.T) {
	t.Parallel()
	j := running(t)
	if _, err := hub.Hold(j, payload(), proof(j), report(hub.ClassScript), t0.Add(time.Minute), policy()); hub.CodeOf(err) != hub.InvalidArgument {
		t.Errorf("a hold that no spec asked for: %v", err)
	}
	long := report(hub.ClassScript)
	long.Left = time.Hour
	d, err := hub.Hold(j, holding(), proof(j), long, t0.Add(30*time.Second), policy())
	if err != nil || d.Job.Held.Until.After(t0.Add(30*time.Second+10*time.Minute)) || d.Job.Held.Until.After(d.Job.DeadlineAt) {
		t.Errorf("%+v, %v", d.Job.Held, err)
	}
	stale := proof(j)
	stale.Nonce = "lse_wrong"
	if _, err := hub.Hold(j, holding(), stale, report(hub.ClassScript), t0.Add(time.Minute), policy()); hub.CodeOf(err) != hub.StaleLease {
		t.Errorf("another's lease: %v", err)
	}
	done := report(hub.ClassScript)
	done.State = hub.JobSucceeded
	if _, err := hub.Hold(j, holding(), proof(j), done, t0.Add(time.Minute), policy()); hub.CodeOf(err) != hub.InvalidArgument {
		t.Errorf("a success that is held: %v", err)
	}
}

// A runner that dies in a hold has said how the attempt ended: that is what it ends as, and not as lost.
func TestAHeldAttemptEndsAsItHadFailed(t *testing.T) {
	t.Parallel()
	after := t0.Add(time.Hour)
	for _, tc := range []struct {
		name     string
		class    hub.Class
		gone     bool
		cancel   bool
		state    hub.JobState
		requeued bool
	}{
		{name: "silence", class: hub.ClassScript, state: hub.JobFailed},
		{name: "unpaired", class: hub.ClassScript, gone: true, state: hub.JobFailed},
		{name: "canceled meanwhile", class: hub.ClassScript, cancel: true, state: hub.JobFailed},
		{name: "a failure that is retried", class: hub.ClassServiceUnhealthy, state: hub.JobQueued, requeued: true},
		{name: "the same, canceled", class: hub.ClassServiceUnhealthy, cancel: true, state: hub.JobFailed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			j := held(t, tc.class)
			if tc.cancel {
				d, err := hub.Cancel(j, holding(), reason, t0.Add(2*time.Minute), policy())
				if err != nil {
					t.Fatal(err)
				}
				j = d.Job
			}
			d := hub.Expire(j, holding(), tc.gone, after)
			if d.Job.State != tc.state || d.Requeued != tc.requeued || d.Job.Held != nil {
				t.Fatalf("%+v", d)
			}
			if d.EndAttempt == nil || d.EndAttempt.State != hub.AttemptFailed || d.EndAttempt.Failure.Class != tc.class {
				t.Errorf("the attempt ends as %+v", d.EndAttempt)
			}
			if (d.Job.Failure == nil) != tc.requeued {
				t.Errorf("the job's failure is %+v", d.Job.Failure)
			}
		})
	}
	if d := hub.Expire(held(t, hub.ClassScript), holding(), false, t0.Add(time.Minute+policy().LeaseTTL/2)); !d.Unchanged {
		t.Errorf("a lease that holds: %+v", d)
	}
}
