package dispatch

import (
	"context"
	"fmt"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// maxTimeline is how many of a job's events an explanation shows, the latest.
const maxTimeline = 100

// Explain says why a job is not running, or how it ended.
func (s *Service) Explain(ctx context.Context, p hub.Principal, jobID string) (Explanation, error) {
	j, _, err := s.job(ctx, p, jobID)
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
		return out, s.explainQueued(ctx, &out, payload)
	case j.State.Live():
		return out, s.explainLive(ctx, &out)
	default:
		return out, s.explainEnded(ctx, &out, payload)
	}
}

func (s *Service) explainQueued(ctx context.Context, out *Explanation, payload hub.JobPayload) error {
	j := out.Job
	pl, err := s.placement(ctx, j.Owner, j.RunnerID, payload)
	if err != nil {
		return err
	}
	ahead, err := s.store.CountAhead(ctx, j.QueueKey(), hub.QueuePos{Rank: j.Rank, ID: j.ID})
	if err != nil {
		return err
	}
	live, err := s.store.CountLive(ctx, j.Owner)
	if err != nil {
		return err
	}
	running := 0
	for _, n := range live {
		running += n
	}
	out.Position, out.Runners, out.Next = ahead+1, pl.list, pl.steps()
	waits := fmt.Sprintf("The job waits at place %d of its queue", out.Position)
	switch {
	case s.policy.MaxRunning > 0 && running >= s.policy.MaxRunning:
		out.Summary = fmt.Sprintf("%s: %s already runs %d jobs, the most that it may (max_running).", waits, payer(j.Owner), running)
		out.Next = append([]string{fmt.Sprintf("It starts when one of the %d running jobs ends; list_jobs with state=active shows them.", running)}, out.Next...)
	case pl.ready > 0 && ahead > 0:
		out.Summary = fmt.Sprintf("%s, behind %s; %s will take it in turn.", waits, count(ahead, "job"), count(pl.ready, "runner"))
	case pl.ready > 0:
		out.Summary = fmt.Sprintf("%s and is about to be handed to a runner.", waits)
	default:
		out.Summary = fmt.Sprintf("%s: %s.", waits, pl.why())
	}
	now := s.clock.now()
	if since := hub.NoRunnerSince(j, payload.Requires, payload.Labels, pl.runners, s.startedAt(), now, s.policy); !since.IsZero() {
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

func (s *Service) explainLive(ctx context.Context, out *Explanation) error {
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

func (s *Service) explainEnded(ctx context.Context, out *Explanation, payload hub.JobPayload) error {
	j := out.Job
	if j.State == hub.JobSucceeded {
		out.Summary = fmt.Sprintf("The job succeeded in attempt %d.", j.Attempt)
		return nil
	}
	out.Summary = fmt.Sprintf("The job is %s.", j.State)
	if f := j.Failure; f != nil {
		out.Summary = fmt.Sprintf("The job is %s (%s): %s.", j.State, f.Class, f.Message)
		if f.Hint != "" {
			out.Next = append(out.Next, f.Hint)
		}
	}
	if j.State == hub.JobRejected {
		pl, err := s.placement(ctx, j.Owner, j.RunnerID, payload)
		if err != nil {
			return err
		}
		out.Runners = pl.list
		out.Next = append(out.Next, pl.steps()...)
	}
	out.Next = append(out.Next, "Run it again with retry_job.")
	if j.Attempt == 0 {
		return nil
	}
	a, err := s.store.GetAttempt(ctx, j.ID, j.Attempt)
	if err != nil {
		return err
	}
	f := &logFile{s: s, jobID: a.JobID, attempt: a.Number, size: a.LogSize}
	bag := &lineBag{room: explainTail, text: maxText / 4, long: longLine / 4}
	_, _, err = f.tail(ctx, bag, s.logComplete(a))
	out.LogTail = bag.lines
	if a.LogSize > 0 {
		out.Next = append(out.Next, "Read more of its log with read_job_log.")
	}
	return err
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
