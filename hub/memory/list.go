package memory

import (
	"context"
	"slices"
	"strings"

	"github.com/runnerhub/runnerhub/hub"
)

// ListJobs implements hub.JobStore.
func (s *Store) ListJobs(ctx context.Context, f hub.JobFilter) (out []hub.QueuedJob, err error) {
	err = s.read(ctx, func() error {
		for _, o := range slices.Compact(slices.Sorted(slices.Values(f.Owners))) {
			jobs := s.owned[o]
			if jobs == nil {
				continue
			}
			n := 0 // of this owner's
			add := func(id string, r *row) bool {
				if n == f.Limit {
					return false
				}
				if id != f.BeforeID && matches(r, f) {
					out = append(out, r.queued())
					n++
				}
				return true
			}
			if f.BeforeID == "" {
				jobs.Reverse(add)
			} else {
				jobs.Descend(f.BeforeID, add)
			}
		}
		slices.SortFunc(out, func(a, b hub.QueuedJob) int { return strings.Compare(b.Job.ID, a.Job.ID) })
		out = out[:min(len(out), f.Limit)]
		return nil
	})
	return out, err
}

// matches applies what the walk over an owner's jobs has not: all but owner and page.
func matches(r *row, f hub.JobFilter) bool {
	j := &r.job
	return (len(f.States) == 0 || slices.Contains(f.States, j.State)) &&
		(f.RunnerID == "" || j.RunnerID == f.RunnerID || j.LeaseRunnerID == f.RunnerID || r.ran(f.RunnerID)) &&
		(f.BatchID == "" || r.payload.BatchID == f.BatchID) &&
		(f.WorkspaceID == "" || j.WorkspaceID == f.WorkspaceID) &&
		(f.Since.IsZero() || !j.CreatedAt.Before(stored(f.Since))) &&
		(f.Until.IsZero() || j.CreatedAt.Before(stored(f.Until)))
}

// ran tells whether one of the attempts was a runner's.
func (r *row) ran(runnerID string) bool {
	return slices.ContainsFunc(r.attempts, func(a *attempt) bool { return a.RunnerID == runnerID })
}
