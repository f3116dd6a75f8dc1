package hub

import "time"

// PhaseHeld is the phase of an attempt that has failed and whose topology stays up to be looked at.
const PhaseHeld = "held"

// Held is what is known of an attempt that has failed, while its topology is kept: it goes on being the live attempt of a
// running job, with a lease that is renewed, and how it ended is known to readers before it is settled.
type Held struct {
	Until    time.Time `json:"until"` // fixed when the hold began
	State    JobState  `json:"state"` // failed or timed_out: what the attempt will end as
	ExitCode *int      `json:"exit_code,omitempty"`
}

// HoldReport is what a runner says of an attempt that it begins to hold.
type HoldReport struct {
	Left     time.Duration // of the hold
	State    JobState      // failed or timed_out
	ExitCode *int
	Failure  Failure
}

// Hold renews the lease of an attempt that has failed and is held. The first call fixes until when, at most
// JobPayload.Hold from now, and makes the failure known; later ones change neither. Nothing else of the lease is different: it
// ends with its heartbeats, at a cancel and at the deadline, for which the hold's time was added when it was given.
func Hold(j Job, p JobPayload, proof Proof, r HoldReport, now time.Time, pol Policy) (Decision, error) {
	if p.Hold <= 0 {
		return Decision{}, Errorf(InvalidArgument, "the job's spec asks for no hold").
			WithHint("report the attempt with submit_job_result")
	}
	if r.State != JobFailed && r.State != JobTimedOut {
		return Decision{}, Errorf(InvalidArgument, "status %q is held by no runner: it is failed or timed_out", r.State)
	}
	d, err := Heartbeat(j, p, proof, PhaseHeld, "", "", now, pol)
	if err != nil || j.Held != nil || j.State != JobRunning {
		return d, err
	}
	until := earlier(now.Add(min(max(r.Left, 0), p.Hold)), j.DeadlineAt)
	d.Job.Held = &Held{Until: until, State: r.State, ExitCode: r.ExitCode}
	d.Job.Failure = &r.Failure
	d.Action = ActJobHeld
	d.Detail = map[string]string{
		"class": string(r.Failure.Class), "reason": r.Failure.Message, "until": until.UTC().Format(time.RFC3339),
	}
	return d, nil
}

// settleHeld ends a held attempt whose runner can say nothing more, as what it had said it would end as.
func settleHeld(j Job, p JobPayload, now time.Time) Decision {
	f := *j.Failure
	as := AttemptFailed
	if j.Held.State == JobTimedOut {
		as = AttemptTimedOut
	}
	e := AttemptEnd{State: as, At: now, Failure: &f}
	if j.CancelRequestedAt.IsZero() && retried(p, f) {
		return lose(j, e, f, j.Held.State, now)
	}
	return settle(j, e, j.Held.State, &f, now)
}
