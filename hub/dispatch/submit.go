package dispatch

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/runnerhub/runnerhub/hub"
)

// maxKey is the most bytes of an idempotency key.
const maxKey = 128

// Submit stores a job. With an IdempotencyKey the same call again returns the
// same job. Errors: InvalidArgument (details "problems" for the spec), TooLarge, NotFound (target, workspace),
// Conflict (the key was used for another job), QueueFull.
func (s *Service) Submit(ctx context.Context, p hub.Principal, r SubmitRequest) (SubmitResult, error) {
	c, err := s.person(ctx, p)
	if err != nil {
		return SubmitResult{}, err
	}
	if err := checkSubmit(r.JobRequest, r.IdempotencyKey); err != nil {
		return SubmitResult{}, err
	}
	pl, problems, err := s.parse(r.Spec, false)
	if err != nil {
		return SubmitResult{}, err
	}
	if len(problems) > 0 {
		return SubmitResult{}, badSpec(problems)
	}
	to, err := s.place(ctx, c, r.Target, r.Workspace)
	if err != nil {
		return SubmitResult{}, err
	}
	if err := s.withArchive(ctx, to.tenant.ID, pl.payload.Spec); err != nil {
		return SubmitResult{}, err
	}
	got, err := s.enqueue(ctx, c, to, pl, r.Priority, r.IdempotencyKey)
	if err != nil {
		return SubmitResult{}, err
	}
	// The job is stored: what fails from here on must not look like a submit that failed.
	if !got.existing && r.Wait <= 0 {
		n := newNames(s.store)
		n.workspaces[to.tenant.ID] = to.tenant.Slug
		n.runners[got.runner.ID] = got.runner.Label
		v, err := n.view(context.WithoutCancel(ctx), got.QueuedJob)
		return SubmitResult{Job: v, Notices: got.notices}, err
	}
	s.await(ctx, got.Job.ID, r.Wait, s.observer(r.Progress))
	v, err := s.view(context.WithoutCancel(ctx), got.Job.ID)
	return SubmitResult{Job: v, Existing: got.existing, Notices: got.notices}, err
}

func checkSubmit(r JobRequest, key string) error {
	switch {
	case r.Priority < -100 || r.Priority > 100:
		return hub.Errorf(hub.InvalidArgument, "priority %d is not between -100 and 100", r.Priority)
	case key != "" && (len(key) > maxKey || !printable(key)):
		return hub.Errorf(hub.InvalidArgument, "an idempotency key has at most %d printable ASCII characters without spaces", maxKey).
			WithHint("send a UUID, or a digest of what makes the job unique")
	}
	return nil
}

// stored is what enqueue came to.
type stored struct {
	hub.QueuedJob
	existing bool // the idempotency key had stored it before
	notices  []Notice
	runner   hub.Runner // that it was handed to
}

// enqueue stores a job and wakes a runner for it.
func (s *Service) enqueue(ctx context.Context, c caller, to place, pl plan, priority int, key string) (stored, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return stored{}, err
	}
	now := s.clock.now()
	job := hub.Job{
		ID: hub.JobIDPrefix + id.String(), WorkspaceID: to.tenant.ID, Owner: to.owner, RunnerID: to.runnerID,
		Group: pl.group, State: hub.JobQueued, Revision: 1, Priority: priority, Rank: hub.RankOf(priority, now, s.policy), MaxAttempts: pl.maxAttempts,
		CreatedAt: now, QueuedAt: now,
	}
	payload := pl.payload
	payload.JobID, payload.SubmittedBy = job.ID, c.User.ID
	h := s.claim(hub.QueuedJob{Job: job, Payload: payload})
	got, existing, err := s.store.Enqueue(ctx, hub.EnqueueParams{
		Handoff: s.handoffChange(h, payload),
		Job:     job, Payload: payload, IdempotencyKey: key, Fingerprint: fingerprint(job, payload, pl.batch),
		MaxQueued: s.policy.MaxQueued,
		Event: hub.Event{
			Time: now, Actor: c.Actor(), Action: hub.ActJobSubmitted, Address: c.Address, Owner: job.Owner,
			WorkspaceID: job.WorkspaceID, JobID: job.ID, RunnerID: job.RunnerID,
		},
	})
	if s.handed(h, got, payload, err) {
		return stored{QueuedJob: hub.QueuedJob{Job: got, Payload: payload}, runner: h.w.runner}, nil
	}
	if hub.CodeOf(err) == hub.QueueFull {
		return stored{}, s.queueFull(job)
	}
	out := stored{QueuedJob: hub.QueuedJob{Job: got, Payload: payload}, existing: existing}
	if err != nil || existing {
		return out, err
	}
	s.recent.wrote(got, payload)
	s.shares.arrived(got)
	if !s.arrived(arrivalOf(out.QueuedJob)) {
		out.notices = s.notices(ctx, c, out.QueuedJob)
	}
	s.supersede(ctx, c.Principal, got, payload)
	return out, nil
}

// queueFull names the cap that refused a job.
func (s *Service) queueFull(j hub.Job) error {
	e := hub.Errorf(hub.QueueFull, "%d jobs wait for that target already, and no more may (max_queued)", s.policy.MaxQueued).
		WithHint("wait until some have run, or cancel some: list_jobs with state=queued shows them").
		WithDetail("limit", "max_queued").WithDetail("max", s.policy.MaxQueued).WithDetail("target", targetOf(j))
	e.Retryable, e.RetryAfter = true, 10*time.Second
	return e
}

// fingerprint tells a repeated request from another one with the same key.
func fingerprint(j hub.Job, p hub.JobPayload, batch int) []byte {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%s\x00%d\x00%s\x00", j.QueueKey(), j.WorkspaceID, j.Priority, p.RetryOf)
	h.Write(p.Spec)
	if batch > 0 {
		fmt.Fprintf(h, "\x00%d", batch)
	}
	return h.Sum(nil)
}

// await holds the call until the job has ended, the wait is over, or waiting has failed.
func (s *Service) await(ctx context.Context, jobID string, wait time.Duration, o *observer) {
	if wait <= 0 {
		return
	}
	w := s.watch.add(jobID)
	defer s.watch.remove(w)
	h := s.hold(ctx, wait)
	defer h.stop()
	for {
		j, err := s.store.GetJob(ctx, jobID)
		if err != nil || j.State.Ended() || j.Held != nil {
			return
		}
		if o.look(ctx, j, h); h.wait(w.ch) != nil {
			return
		}
	}
}
