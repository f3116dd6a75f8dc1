package dispatch

import (
	"context"
	"fmt"

	"github.com/runnerhub/runnerhub/hub"
)

// explainTail is how many lines of a failed job's log an explanation ends with.
const explainTail = 20

// Check does what Submit would and stores nothing. A faulty spec is a result and no error.
func (s *Service) Check(ctx context.Context, p hub.Principal, r JobRequest) (CheckResult, error) {
	c, err := s.person(ctx, p)
	if err != nil {
		return CheckResult{}, err
	}
	if err := checkSubmit(r, ""); err != nil {
		return CheckResult{}, err
	}
	pl, problems, err := s.parse(r.Spec, r.SourceFollows)
	if err != nil {
		return CheckResult{}, err
	}
	if len(problems) > 0 {
		return invalid(problems...), nil
	}
	to, err := s.place(ctx, c, r.Target, r.Workspace)
	if err != nil {
		return CheckResult{}, err
	}
	problem, err := s.keepArchive(ctx, to.tenant.ID, pl.payload.Spec)
	if err != nil {
		return CheckResult{}, err
	}
	if problem != nil {
		return invalid(*problem), nil
	}
	at, err := s.placement(ctx, c, hub.QueuedJob{
		Job:     hub.Job{Owner: to.owner, RunnerID: to.runnerID, WorkspaceID: to.tenant.ID, Group: pl.group},
		Payload: pl.payload,
	})
	if err != nil {
		return CheckResult{}, err
	}
	out := CheckResult{Valid: true, Runners: at.list, Reasons: at.blocks, Next: at.steps()}
	if at.ready > 0 {
		out.Summary = fmt.Sprintf("The spec is valid and %s could start it now.", count(at.ready, "runner"))
	} else {
		out.Summary = "The spec is valid, but " + fullStop(at.why(false))
	}
	return out, nil
}

func invalid(problems ...SpecProblem) CheckResult {
	return CheckResult{Problems: problems, Summary: fmt.Sprintf("The spec has %s: %s", count(len(problems), "problem"), fullStop(problems[0].Message))}
}
