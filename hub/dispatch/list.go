package dispatch

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/runnerhub/runnerhub/hub"
)

// List pages the jobs that the caller may see, the newest first.
func (s *Service) List(ctx context.Context, p hub.Principal, r ListRequest) (ListResult, error) {
	c, err := s.person(ctx, p)
	if err != nil {
		return ListResult{}, err
	}
	f, err := s.filter(ctx, c, r)
	if err != nil {
		return ListResult{}, err
	}
	f.Limit++ // one more tells whether there is a next page
	jobs, err := s.store.ListJobs(ctx, f)
	if err != nil {
		return ListResult{}, err
	}
	var out ListResult
	if len(jobs) == f.Limit {
		jobs = jobs[:f.Limit-1]
		out.NextCursor = base64.RawURLEncoding.EncodeToString([]byte(jobs[len(jobs)-1].Job.ID))
	}
	n := newNames(s.store)
	for _, q := range jobs {
		q.Payload.Spec = nil
		v, err := n.view(ctx, q)
		if err != nil {
			return ListResult{}, err
		}
		out.Jobs = append(out.Jobs, v)
	}
	return out, nil
}

func (s *Service) filter(ctx context.Context, c caller, r ListRequest) (hub.JobFilter, error) {
	f := hub.JobFilter{
		Owners: c.owners(), States: r.States, RunnerID: r.RunnerID, Since: r.Since, Until: r.Until, Limit: r.Limit,
	}
	if r.RunnerID != "" && !printable(r.RunnerID) {
		return f, hub.Errorf(hub.InvalidArgument, "runner is no runner's id")
	}
	if r.BatchID != "" {
		if !isBatch(r.BatchID) {
			return f, noBatch(r.BatchID)
		}
		f.BatchID = r.BatchID
	}
	if f.Limit == 0 {
		f.Limit = 20
	}
	if f.Limit < 1 || f.Limit > 100 {
		return f, hub.Errorf(hub.InvalidArgument, "limit %d is not between 1 and 100", r.Limit)
	}
	for _, st := range r.States {
		if !st.Ended() && !st.Live() && st != hub.JobQueued {
			return f, hub.Errorf(hub.InvalidArgument, "%q is no state of a job", clip(string(st), 40)).
				WithHint("the states are queued, leased, running, succeeded, failed, canceled, timed_out, rejected")
		}
	}
	if r.Workspace != "" {
		w, err := c.workspace(r.Workspace)
		if err != nil {
			return f, err
		}
		f.WorkspaceID = w.ID
	}
	if r.Label != "" {
		id, err := s.labelled(ctx, c, r.Label)
		if err != nil {
			return f, err
		}
		if r.RunnerID != "" && r.RunnerID != id {
			return f, hub.Errorf(hub.InvalidArgument, "runner and label name two runners").WithHint("send one of them")
		}
		f.RunnerID = id
	}
	if r.Cursor != "" {
		id, err := base64.RawURLEncoding.DecodeString(r.Cursor)
		if err != nil || !strings.HasPrefix(string(id), hub.JobIDPrefix) || !printable(string(id)) {
			return f, hub.Errorf(hub.InvalidArgument, "this is no cursor of list_jobs").WithHint("send next_cursor of the page before")
		}
		f.BeforeID = string(id)
	}
	return f, nil
}

func (s *Service) labelled(ctx context.Context, c caller, label string) (string, error) {
	if !printable(label) {
		return "", s.unknownTarget(ctx, c, label)
	}
	rs, err := s.store.RunnersByLabel(ctx, c.owners(), label)
	switch {
	case err != nil:
		return "", err
	case len(rs) == 0:
		return "", s.unknownTarget(ctx, c, label)
	case len(rs) > 1:
		ids := make([]string, len(rs))
		for i, r := range rs {
			ids[i] = r.ID
		}
		slices.Sort(ids)
		return "", hub.Errorf(hub.InvalidArgument, "%d runners are labelled %q", len(rs), label).
			WithHint("filter by runner: %s", strings.Join(ids, ", ")).WithDetail("runner_ids", ids)
	}
	return rs[0].ID, nil
}
