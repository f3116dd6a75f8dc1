package dispatch

import (
	"context"

	"github.com/runnerhub/runnerhub/hub"
)

// maxReason is the most bytes of a reason that a caller gives.
const maxReason = 200

// Cancel ends a queued job, or asks the runner of a live one to stop it. Twice
// changes nothing. AlreadySettled when the job has ended otherwise.
func (s *Service) Cancel(ctx context.Context, p hub.Principal, jobID, reason string) (JobView, error) {
	if len(reason) > maxReason {
		return JobView{}, hub.Errorf(hub.InvalidArgument, "the reason has %d bytes and may have %d", len(reason), maxReason)
	}
	if _, _, err := s.job(ctx, p, jobID); err != nil {
		return JobView{}, err
	}
	_, err := s.decide(ctx, jobID, p, func(j hub.Job, pl hub.JobPayload) (hub.Decision, error) {
		return hub.Cancel(j, pl, bound(reason, maxReason), s.clock.now(), s.policy)
	})
	if err != nil {
		return JobView{}, err
	}
	return s.view(ctx, jobID)
}

// Retry submits an ended job's spec again, or one with changes to it, as a new job linked to it, to the
// same target and for the same workspace. Conflict while the job has not ended, InvalidArgument (details "problems")
// for changes that leave no valid spec.
func (s *Service) Retry(ctx context.Context, p hub.Principal, r RetryRequest) (SubmitResult, error) {
	j, c, err := s.job(ctx, p, r.JobID)
	if err != nil {
		return SubmitResult{}, err
	}
	if err := checkSubmit(JobRequest{}, r.IdempotencyKey); err != nil {
		return SubmitResult{}, err
	}
	if !j.State.Ended() {
		return SubmitResult{}, hub.Errorf(hub.Conflict, "the job is %s and has not ended", j.State).
			WithHint("wait for it with wait_job, or cancel it with cancel_job")
	}
	to, err := s.placeAgain(ctx, c, j)
	if err != nil {
		return SubmitResult{}, err
	}
	payload, err := s.store.GetPayload(ctx, j.ID)
	if err != nil {
		return SubmitResult{}, err
	}
	again := plan{payload: payload, maxAttempts: j.MaxAttempts, group: j.Group}
	if len(r.Changes) > 0 {
		draft, err := s.draft(payload.Spec)
		if err != nil {
			return SubmitResult{}, err
		}
		var problems []SpecProblem
		again, problems, err = s.parseChanged(draft, r.Changes)
		switch {
		case err != nil:
			return SubmitResult{}, err
		case len(problems) > 0:
			return SubmitResult{}, badSpec(problems)
		}
	}
	if err := s.withArchive(ctx, to.tenant.ID, again.payload.Spec); err != nil {
		return SubmitResult{}, err
	}
	again.payload.RetryOf, again.payload.BatchID = j.ID, ""
	got, err := s.enqueue(ctx, c, to, again, j.Priority, r.IdempotencyKey)
	if err != nil {
		return SubmitResult{}, err
	}
	v, err := s.view(ctx, got.Job.ID)
	return SubmitResult{Job: v, Existing: got.existing, Notices: got.notices}, err
}

// placeAgain is where a job went, if the caller may still send one there.
func (s *Service) placeAgain(ctx context.Context, c caller, j hub.Job) (place, error) {
	to := place{owner: j.Owner, runnerID: j.RunnerID}
	for _, m := range c.members {
		if m.Workspace.ID == j.WorkspaceID {
			to.tenant = m.Workspace
		}
	}
	if to.tenant.ID == "" {
		return to, hub.Errorf(hub.PermissionDenied, "you are no member of the job's workspace any more").
			WithHint("submit its spec with submit_job instead")
	}
	if to.runnerID == "" {
		return to, nil
	}
	_, err := s.target(ctx, c, to.runnerID, "")
	return to, err
}
