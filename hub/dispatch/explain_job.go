package dispatch

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// maxTimeline is how many of a job's events an explanation shows, the latest.
const maxTimeline = 100

// Explain says why a job is not running, or how it ended.
func (s *Service) Explain(ctx context.Context, p hub.Principal, jobID string) (Explanation, error) {
	j, c, err := s.job(ctx, p, jobID)
	if err != nil {
		return Explanation{}, err
	}
	payload, err := s.store.GetPayload(ctx, j.ID)
	if err != nil {
		return Explanation{}, err
	}
	out := Explanation{Job: j, Failure: j.Failure}
	if out.Timeline, err = s.timeline(ctx, j.ID); err != nil {
		return out, err
	}
	switch {
	case j.State == hub.JobQueued:
		return out, s.explainQueued(ctx, &out, c, payload)
	case j.State.Live():
		return out, s.explainLive(ctx, &out, payload)
	default:
		return out, s.explainEnded(ctx, &out, c, payload)
	}
}

func (s *Service) explainQueued(ctx context.Context, out *Explanation, c caller, payload hub.JobPayload) error {
	j := out.Job
	at, err := s.placement(ctx, c, hub.QueuedJob{Job: j, Payload: payload})
	if err != nil {
		return err
	}
	ahead, err := s.store.CountAhead(ctx, j.QueueKey(), hub.QueuePos{Rank: j.Rank, ID: j.ID})
	if err != nil {
		return err
	}
	out.Position, out.Runners, out.Reasons, out.Next = ahead+1, at.list, at.blocks, at.steps()
	waits := fmt.Sprintf("The job waits at place %d of its queue", out.Position)
	switch {
	case at.ready > 0 && ahead > 0:
		out.Summary = fmt.Sprintf("%s, behind %s; %s will take it in turn.", waits, count(ahead, "job"), count(at.ready, "runner"))
	case at.ready > 0:
		out.Summary = fmt.Sprintf("%s and is about to be handed to a runner.", waits)
	default:
		out.Summary = fmt.Sprintf("%s: %s", waits, fullStop(at.why(false)))
	}
	if _, personal := j.Owner.User(); personal && ahead > 0 {
		shares, err := s.store.Shares(ctx, j.QueueKey())
		if err != nil {
			return err
		}
		if len(shares) > 1 {
			out.Next = append(out.Next, fmt.Sprintf("%d workspaces share this queue and take turns, so that it may start before jobs ahead of it.", len(shares)))
		}
	}
	now := s.clock.now()
	if since := hub.NoRunnerSince(j, demandOf(payload), at.runners, s.startedAt(), now, s.policy); !since.IsZero() {
		left := max(0, since.Add(s.policy.NoRunnerTimeout).Sub(now)).Round(time.Second)
		out.Next = append(out.Next, fmt.Sprintf("Unless a runner that can take it comes online, it is rejected in %s.", left))
	}
	if j.Losses > 0 {
		out.Next = append(out.Next, fmt.Sprintf("It was queued again after %s; %d of %d may be lost.", count(j.Losses, "lost attempt"), j.Losses, j.MaxAttempts))
	}
	return nil
}

func payer(o hub.Owner) string {
	if _, ok := o.Workspace(); ok {
		return "the workspace"
	}
	return "its owner"
}

func (s *Service) explainLive(ctx context.Context, out *Explanation, payload hub.JobPayload) error {
	j := out.Job
	label, err := newNames(s.store).runner(ctx, j.LeaseRunnerID)
	if err != nil {
		return err
	}
	now := s.clock.now()
	switch {
	case !j.CancelRequestedAt.IsZero():
		out.Summary = fmt.Sprintf("The job is being canceled; %s is stopping it.", label)
	case j.State == hub.JobLeased:
		out.Summary = fmt.Sprintf("%s was handed attempt %d and has not begun it yet.", label, j.Attempt)
	case j.Held != nil:
		out.explainHeld(label, now)
	case isSession(payload):
		out.explainSession(label)
	default:
		out.Summary = fmt.Sprintf("%s runs attempt %d of the job (%s).", label, j.Attempt, phase(j))
	}
	if now.After(j.LeaseExpiresAt) {
		out.Next = append(out.Next, fmt.Sprintf("%s has been silent for longer than its lease; the job is queued again or ends in a moment.", label))
	}
	out.Next = append(out.Next,
		"Follow it with wait_job; read_job_log shows what it wrote.",
		fmt.Sprintf("It is ended by %s at the latest.", j.DeadlineAt.Format(time.RFC3339)))
	return nil
}

// explainHeld says how a held attempt failed, and what can be done while it is there.
func (e *Explanation) explainHeld(label string, now time.Time) {
	j := e.Job
	failed := j
	failed.State = j.Held.State
	left := max(0, j.Held.Until.Sub(now)).Round(time.Second)
	e.Summary = fmt.Sprintf("%s Its topology is held on %s for %s more.", endedWords(failed), label, left)
	if j.Failure.Hint != "" {
		e.Next = append(e.Next, fullStop(j.Failure.Hint))
	}
	e.Next = append(e.Next, "Look into its containers with exec_in_job; end_hold lets go of them, and the job ends.")
}

func phase(j hub.Job) string {
	switch {
	case j.Step != "":
		return "step " + j.Step
	case j.Phase != "":
		return j.Phase
	default:
		return "starting"
	}
}

func (s *Service) explainEnded(ctx context.Context, out *Explanation, c caller, payload hub.JobPayload) error {
	j := out.Job
	var a hub.Attempt
	if j.Attempt > 0 {
		var err error
		if a, err = s.store.GetAttempt(ctx, j.ID, j.Attempt); err != nil {
			return err
		}
		out.Result = a.Result
	}
	if j.State == hub.JobSucceeded {
		out.Summary = strings.TrimSpace(fmt.Sprintf("The job succeeded in attempt %d. %s", j.Attempt, noteOf(a.Result)))
		return nil
	}
	out.Summary = endedWords(j)
	if f := j.Failure; f != nil && f.Hint != "" {
		out.Next = append(out.Next, fullStop(f.Hint))
	}
	if j.State == hub.JobRejected {
		at, err := s.placement(ctx, c, hub.QueuedJob{Job: j, Payload: payload})
		if err != nil {
			return err
		}
		out.Runners = at.list
		out.Next = append(out.Next, at.steps()...)
	}
	out.Next = append(out.Next, again(j))
	if j.Attempt == 0 {
		return nil
	}
	f := &logFile{s: s, jobID: a.JobID, attempt: a.Number, size: a.LogSize}
	bag := &lineBag{room: explainTail, text: maxText / 4, long: longLine / 4}
	_, _, err := f.tail(ctx, bag, s.logComplete(a))
	if err != nil {
		return err
	}
	out.LogTail = bag.lines
	out.Telling, err = s.telling(ctx, j, a)
	if a.LogSize > 0 {
		out.Next = append(out.Next, "Read more of its log with read_job_log.")
	}
	return err
}

// again says when it is of use to run the same job once more.
func again(j hub.Job) string {
	if j.Failure != nil {
		switch j.Failure.Class {
		case hub.ClassPolicyDenied:
			return "Once it is allowed, run it again with retry_job."
		case hub.ClassSpecInvalid:
			return "It would fail again as it is: mend it, and submit it with submit_job."
		case hub.ClassCapabilityMissing, hub.ClassNoRunner:
			return "Once a machine can take it, run it again with retry_job."
		}
	}
	return "Run it again with retry_job."
}

// endedWords says how a job ended that did not succeed. The class is left out where it only repeats the state.
func endedWords(j hub.Job) string {
	state := map[hub.JobState]string{
		hub.JobFailed: "failed", hub.JobCanceled: "was canceled", hub.JobTimedOut: "timed out", hub.JobRejected: "was rejected",
	}[j.State]
	switch f := j.Failure; {
	case f == nil:
		return fmt.Sprintf("The job %s.", state)
	case f.Class == hub.ClassCanceled || f.Class == hub.ClassTimeout:
		return fmt.Sprintf("The job %s: %s", state, fullStop(f.Message))
	default:
		return fmt.Sprintf("The job %s (%s): %s", state, f.Class, fullStop(f.Message))
	}
}

// timeline is a job's events as people read them.
func (s *Service) timeline(ctx context.Context, jobID string) ([]TimelineItem, error) {
	events, err := s.store.ListEvents(ctx, jobID)
	if err != nil {
		return nil, err
	}
	events = events[max(0, len(events)-maxTimeline):]
	n := newNames(s.store)
	out := make([]TimelineItem, 0, len(events))
	for _, e := range events {
		msg := e.Detail["reason"]
		if e.Action == hub.ActJobLeased {
			label, err := n.runner(ctx, e.RunnerID)
			if err != nil {
				return nil, err
			}
			msg = "to " + label
		}
		out = append(out, TimelineItem{Time: e.Time, Action: e.Action, Actor: e.Actor, Attempt: e.Attempt, Message: msg})
	}
	return out, nil
}
