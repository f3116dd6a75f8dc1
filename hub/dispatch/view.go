package dispatch

import (
	"context"

	"github.com/runnerhub/runnerhub/hub"
)

// Get returns the whole job.
func (s *Service) Get(ctx context.Context, p hub.Principal, jobID string) (JobView, error) {
	if _, _, err := s.job(ctx, p, jobID); err != nil {
		return JobView{}, err
	}
	return s.view(ctx, jobID)
}

// view reads a job with its payload, attempts and result.
func (s *Service) view(ctx context.Context, jobID string) (JobView, error) {
	j, err := s.store.GetJob(ctx, jobID)
	if err != nil {
		return JobView{}, err
	}
	payload, err := s.store.GetPayload(ctx, jobID)
	if err != nil {
		return JobView{}, err
	}
	v, err := newNames(s.store).view(ctx, hub.QueuedJob{Job: j, Payload: payload})
	if err != nil || j.Attempt == 0 {
		return v, err
	}
	if v.Attempts, err = s.store.ListAttempts(ctx, jobID); err != nil {
		return JobView{}, err
	}
	last, err := s.store.GetAttempt(ctx, jobID, j.Attempt)
	if err != nil {
		return JobView{}, err
	}
	v.Result, v.LogSize = last.Result, last.LogSize
	return v, nil
}

// names looks up what ids are called, each once.
type names struct {
	store      hub.Store
	runners    map[string]string
	workspaces map[string]string
}

func newNames(st hub.Store) *names {
	return &names{store: st, runners: map[string]string{}, workspaces: map[string]string{}}
}

func (n *names) view(ctx context.Context, q hub.QueuedJob) (JobView, error) {
	v := JobView{Job: q.Job, Payload: q.Payload, Target: targetOf(q.Job), RunnerID: q.Job.LeaseRunnerID}
	if v.RunnerID == "" {
		v.RunnerID = q.Job.RunnerID
	}
	var err error
	if v.Workspace, err = n.workspace(ctx, q.Job.WorkspaceID); err != nil {
		return JobView{}, err
	}
	v.RunnerLabel, err = n.runner(ctx, v.RunnerID)
	return v, err
}

// targetOf is the target that was chosen, as a caller would write it.
func targetOf(j hub.Job) string {
	if j.RunnerID != "" {
		return j.RunnerID
	}
	if _, ok := j.Owner.Workspace(); ok {
		return TargetWorkspace
	}
	return TargetSelf
}

func (n *names) runner(ctx context.Context, id string) (string, error) {
	return lookup(n.runners, id, func() (string, error) {
		r, err := n.store.GetRunner(ctx, id)
		return r.Label, err
	})
}

func (n *names) workspace(ctx context.Context, id string) (string, error) {
	return lookup(n.workspaces, id, func() (string, error) {
		w, err := n.store.GetWorkspace(ctx, id)
		return w.Slug, err
	})
}

// lookup answers from known, or asks. What is gone has no name.
func lookup(known map[string]string, id string, ask func() (string, error)) (string, error) {
	if id == "" {
		return "", nil
	}
	if name, ok := known[id]; ok {
		return name, nil
	}
	name, err := ask()
	if err != nil && hub.CodeOf(err) != hub.NotFound {
		return "", err
	}
	known[id] = name
	return name, nil
}
