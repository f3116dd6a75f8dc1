package hub

import (
	"fmt"
	"slices"
	"time"
)

// Decision is what the machine makes of an event: the job's next row and what
// else must be written with it, in one guarded write.
type Decision struct {
	Job        Job         // the next row; its Revision is that of the row decided on, plus one
	Guard      Guard       // what the row must still be
	NewAttempt *Attempt    // to insert: a lease was given
	Started    bool        // the attempt was acknowledged now; its StartedAt is Job.StartedAt
	EndAttempt *AttemptEnd // the attempt's end
	Action     Action      // "" where nothing worth an event happened
	Detail     map[string]string
	Requeued   bool // the job waits again: somebody should be woken
	Unchanged  bool // nothing to write
}

// Guard names the row that a decision was made on. A write that finds another one changes nothing.
type Guard struct {
	State    JobState
	Epoch    int64
	Revision int64
}

// AttemptEnd is how an attempt ended.
type AttemptEnd struct {
	State        AttemptState
	At           time.Time
	Failure      *Failure
	ReportDigest []byte
	Result       []byte
}

// LeaseGrant is what Lease needs to know.
type LeaseGrant struct {
	Runner    Runner
	RequestID string
	Digest    []byte   // SHA-256 of the nonce
	LogDigest []byte   // SHA-256 of the log's capability
	Denied    []Reason // what the runner's owner refuses the job for
}

// ErrSkip says that a runner cannot take a pool's job, and that another may.
var ErrSkip = Errorf(CapabilityMissing, "this runner cannot take that job")

func decide(j Job) Decision {
	d := Decision{Job: j, Guard: Guard{j.State, j.Epoch, j.Revision}}
	d.Job.Revision++
	return d
}

// Lease hands a queued job to a runner. A capability or label that the runner lacks, or what its owner
// does not allow, rejects the job on a named queue, since that runner was chosen, and is ErrSkip on a pool.
func Lease(j Job, p JobPayload, g LeaseGrant, now time.Time, pol Policy) (Decision, error) {
	if j.State != JobQueued {
		return Decision{}, ErrConflict
	}
	if !g.Runner.Serves(j.QueueKey()) {
		return Decision{}, Errorf(NotFound, "no such job")
	}
	d := Demand{p.Requires, p.Labels, func(Runner) []Reason { return g.Denied }}
	if ok, reasons := Fit(g.Runner, d); !ok {
		if j.RunnerID == "" {
			return Decision{}, ErrSkip
		}
		return Reject(j, unfit(g.Runner.Label, reasons), now)
	}
	return lease(j, p, g, now, pol), nil
}

// unfit is why a runner that was chosen cannot have a job.
func unfit(label string, reasons []Reason) Failure {
	f := Failure{Class: ClassPolicyDenied, Message: Refusals(label, reasons), Hint: "Change the job, or ask the machine's owner to allow it there."}
	for _, r := range reasons {
		if r.Code != ReasonPolicy {
			f.Class = ClassCapabilityMissing
			f.Hint = "Submit to a pool (target self or workspace) or to a runner that has what the job requires."
		}
	}
	if len(reasons) == 1 && f.Class == ClassPolicyDenied && reasons[0].Hint != "" {
		f.Hint = fmt.Sprintf("Change the job, or ask the machine's owner to allow it there: `%s`.", reasons[0].Hint)
	}
	return f
}

// lease is the decision to hand j out.
func lease(j Job, p JobPayload, g LeaseGrant, now time.Time, pol Policy) Decision {
	d := decide(j)
	n := &d.Job
	n.State = JobLeased
	n.Attempt++
	n.Epoch++
	n.LeaseRunnerID = g.Runner.ID
	n.LeaseDigest = g.Digest
	n.LeaseRequestID = g.RequestID
	n.DeadlineAt = now.Add(p.Timeout + p.Hold + pol.DeadlineMargin)
	n.LeaseExpiresAt = earlier(now.Add(pol.FirstHeartbeat), n.DeadlineAt)
	n.Phase, n.Step, n.Progress = "", "", ""
	n.StartedAt = time.Time{}
	d.NewAttempt = &Attempt{
		JobID: j.ID, Number: n.Attempt, RunnerID: g.Runner.ID, Epoch: n.Epoch, State: AttemptLeased,
		LeaseDigest: g.Digest, LogDigest: g.LogDigest, LeasedAt: now,
	}
	d.Action = ActJobLeased
	return d
}

// Heartbeat renews a lease, up to the deadline and no further; the first one
// acknowledges it. A lease that ran out but was not yet taken away is renewed: whoever writes first wins.
func Heartbeat(j Job, p JobPayload, proof Proof, phase, step, progress string, now time.Time, pol Policy) (Decision, error) {
	if err := j.Fence(proof); err != nil {
		return Decision{}, err
	}
	if !now.Before(j.DeadlineAt) {
		return Decision{}, staleLease()
	}
	d := decide(j)
	n := &d.Job
	if j.State == JobLeased {
		n.State = JobRunning
		n.StartedAt = now
		d.Started = true
		d.Action = ActJobStarted
	}
	n.LeaseExpiresAt = earlier(now.Add(pol.LeaseTTL), j.DeadlineAt)
	if !j.CancelRequestedAt.IsZero() {
		n.LeaseExpiresAt = earlier(n.LeaseExpiresAt, cancelBy(j.CancelRequestedAt, p, pol))
	}
	n.Phase, n.Step, n.Progress = phase, step, progress
	return d, nil
}

// Report is an attempt's terminal report, a result or the word that it could not be run.
type Report struct {
	State   JobState // succeeded, failed, canceled or timed_out
	Failure *Failure
	Note    string // what ended a session that succeeded
	Digest  []byte // SHA-256 of the report's bytes
	Result  []byte // its JSON
}

// Settle ends an attempt by its runner's report. An infrastructure failure queues the job again while attempts
// remain, or cancels it where that was asked for; everything else settles it.
func Settle(j Job, p JobPayload, proof Proof, r Report, now time.Time) (Decision, error) {
	if err := j.Fence(proof); err != nil {
		return Decision{}, err
	}
	var as AttemptState
	switch r.State {
	case JobSucceeded:
		as = AttemptSucceeded
	case JobFailed:
		as = AttemptFailed
	case JobCanceled:
		as = AttemptCanceled
	case JobTimedOut:
		as = AttemptTimedOut
	default:
		return Decision{}, Errorf(InvalidArgument, "status %q is not one of succeeded, failed, canceled, timed_out", r.State)
	}
	if (r.State == JobSucceeded) != (r.Failure == nil) {
		return Decision{}, Errorf(InvalidArgument, "a %s result and a failure do not go together", r.State).
			WithHint("send a failure exactly when the status is not succeeded")
	}
	if r.State == JobCanceled && !j.CancelRequestedAt.IsZero() { // by a person, whose reason says more than the runner's words
		f := *r.Failure
		f.Message = canceled(j.CancelReason).Message
		r.Failure = &f
	}
	end := AttemptEnd{State: as, At: now, Failure: r.Failure, ReportDigest: r.Digest, Result: r.Result}
	switch {
	case r.Failure == nil || r.State == JobCanceled:
	case !j.CancelRequestedAt.IsZero() && r.Failure.Infrastructure():
		// Nobody wants it to run again, and whoever canceled it looks for that, not for what became of its machine.
		return settle(j, end, JobCanceled, canceled(j.CancelReason), now), nil
	case j.CancelRequestedAt.IsZero() && retried(p, *r.Failure):
		return lose(j, end, *r.Failure, r.State, now), nil
	}
	d := settle(j, end, r.State, r.Failure, now)
	if r.Failure == nil && r.Note != "" {
		d.Detail = map[string]string{"reason": r.Note}
	}
	return d, nil
}

// Release ends an attempt that its runner gives back; it costs the job nothing.
func Release(j Job, proof Proof, reason string, now time.Time) (Decision, error) {
	if err := j.Fence(proof); err != nil {
		return Decision{}, err
	}
	end := AttemptEnd{State: AttemptReleased, At: now}
	if !j.CancelRequestedAt.IsZero() {
		return settle(j, end, JobCanceled, canceled(j.CancelReason), now), nil
	}
	d := requeue(j, end, now)
	d.Action = ActJobReleased
	d.Detail = map[string]string{"reason": reason}
	return d, nil
}

// Cancel ends a queued job at once and asks a live one's runner to stop it.
// Canceling twice changes nothing.
func Cancel(j Job, p JobPayload, reason string, now time.Time, pol Policy) (Decision, error) {
	switch {
	case j.State == JobCanceled || (j.State.Live() && !j.CancelRequestedAt.IsZero()):
		return Decision{Job: j, Unchanged: true}, nil
	case j.State.Ended():
		return Decision{}, Errorf(AlreadySettled, "the job has ended already: %s", j.State).
			WithHint("see it with get_job, or run it again with retry_job")
	case j.State == JobQueued:
		d := decide(j)
		end(&d, JobCanceled, canceled(reason), now)
		d.Job.CancelRequestedAt, d.Job.CancelReason = now, reason
		return d, nil
	default:
		d := decide(j)
		d.Job.CancelRequestedAt, d.Job.CancelReason = now, reason
		d.Job.LeaseExpiresAt = earlier(j.LeaseExpiresAt, cancelBy(now, p, pol))
		d.Action = ActCancelRequested
		d.Detail = map[string]string{"reason": reason}
		return d, nil
	}
}

// Reject ends a queued job that cannot be run.
func Reject(j Job, f Failure, now time.Time) (Decision, error) {
	if j.State != JobQueued {
		return Decision{}, ErrConflict
	}
	d := decide(j)
	end(&d, JobRejected, &f, now)
	return d, nil
}

// maxHandouts is how often a job is leased at most. Leases that are given back or never acknowledged cost no attempt, and
// a job that ends every runner before it can say a word would otherwise go round for ever.
const maxHandouts = 100

// Expire looks at a live job's clocks: Unchanged, or lost, canceled or timed out
// by whichever ran out first; one that was held is what it had failed with. gone says that the runner was unpaired, which
// loses the attempt at once.
func Expire(j Job, p JobPayload, gone bool, now time.Time) Decision {
	atDeadline := !now.Before(j.DeadlineAt) && !j.LeaseExpiresAt.Before(j.DeadlineAt)
	switch {
	case !j.State.Live() || (!gone && now.Before(j.LeaseExpiresAt)):
		return Decision{Job: j, Unchanged: true}
	case j.Held != nil:
		return settleHeld(j, p, now)
	case !j.CancelRequestedAt.IsZero():
		f := canceled(j.CancelReason)
		return settle(j, AttemptEnd{State: AttemptCanceled, At: now, Failure: f}, JobCanceled, f, now)
	case j.State == JobRunning && atDeadline:
		f := &Failure{
			Class: ClassTimeout, Message: "the attempt's deadline passed and its runner had not reported",
			Hint: "Raise `timeout` in the spec, or look at the log for what took so long.",
		}
		return settle(j, AttemptEnd{State: AttemptTimedOut, At: now, Failure: f}, JobTimedOut, f, now)
	}
	f := Failure{
		Class: ClassRunnerLost, Message: "the runner went silent and its lease ran out",
		Hint: "See whether the machine is up: `runnerctl status` there, list_runners here.",
	}
	if gone {
		f.Message, f.Hint = "the runner was unpaired while it ran the job", "Submit the job again."
	}
	lost := AttemptEnd{State: AttemptLost, At: now, Failure: &f}
	switch {
	case gone && j.RunnerID != "": // its queue has no runner any more
		return settle(j, lost, JobFailed, &f, now)
	case j.State == JobLeased && j.Attempt >= maxHandouts:
		f.Message = fmt.Sprintf("it was handed out %d times, and the last runner that took it never began", j.Attempt)
		f.Hint = "something about the job may end its runners: look at their logs, and submit it to another target"
		return settle(j, lost, JobFailed, &f, now)
	case j.State == JobLeased: // never acknowledged, so never begun: no cost
		d := requeue(j, lost, now)
		d.Detail = map[string]string{"reason": "the lease was not acknowledged"}
		return d
	case retried(p, f):
		return lose(j, lost, f, JobFailed, now)
	default:
		return settle(j, lost, JobFailed, &f, now)
	}
}

// lose ends an attempt that counts, and queues the job again while attempts remain.
func lose(j Job, e AttemptEnd, f Failure, final JobState, now time.Time) Decision {
	j.Losses++
	if j.Losses >= j.MaxAttempts {
		return settle(j, e, final, &f, now)
	}
	d := requeue(j, e, now)
	d.Detail = map[string]string{"class": string(f.Class), "reason": f.Message}
	return d
}

func requeue(j Job, e AttemptEnd, now time.Time) Decision {
	d := decide(j)
	d.EndAttempt = &e
	n := &d.Job
	n.State = JobQueued
	n.QueuedAt = now
	n.Failure = nil // that of a held attempt is the attempt's
	dropLease(n)
	d.Action = ActJobRequeued
	d.Requeued = true
	return d
}

func settle(j Job, e AttemptEnd, s JobState, f *Failure, now time.Time) Decision {
	d := decide(j)
	d.EndAttempt = &e
	end(&d, s, f, now)
	return d
}

func end(d *Decision, s JobState, f *Failure, now time.Time) {
	n := &d.Job
	n.State = s
	n.Failure = f
	n.EndedAt = now
	runner := n.LeaseRunnerID
	dropLease(n)
	n.LeaseRunnerID = runner // who ran it stays visible
	if f != nil {
		d.Detail = map[string]string{"class": string(f.Class), "reason": f.Message}
	}
	d.Action = map[JobState]Action{
		JobSucceeded: ActJobSucceeded, JobFailed: ActJobFailed, JobCanceled: ActJobCanceled,
		JobTimedOut: ActJobTimedOut, JobRejected: ActJobRejected,
	}[s]
}

func dropLease(n *Job) {
	n.LeaseRunnerID, n.LeaseRequestID, n.LeaseDigest = "", "", nil
	n.LeaseExpiresAt, n.DeadlineAt, n.Held = time.Time{}, time.Time{}, nil
	n.Phase, n.Step, n.Progress = "", "", ""
}

func retried(p JobPayload, f Failure) bool {
	if len(p.RetryOn) > 0 {
		return slices.Contains(p.RetryOn, f.Class)
	}
	return f.Infrastructure()
}

func canceled(reason string) *Failure {
	if reason == "" {
		reason = "no reason given"
	}
	return &Failure{Class: ClassCanceled, Message: reason}
}

func cancelBy(asked time.Time, p JobPayload, pol Policy) time.Time {
	return asked.Add(p.Grace + pol.CancelMargin)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
