package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// ListJobs implements hub.JobStore. The newest of each owner are found by jobs_list and merged, since
// one index scan over several owners would sort all of their jobs.
func (s *Store) ListJobs(ctx context.Context, f hub.JobFilter) ([]hub.QueuedJob, error) {
	sql, args := listJobs(f)
	return collect(ctx, s, "list jobs", scanQueued, sql, args...)
}

// listJobs writes the statement with the conditions that f has, because a condition that may be empty
// ("$1 = ” OR …") hides an index from the planner. There are at most 128 of them, so that each is prepared once.
func listJobs(f hub.JobFilter) (sql string, args []any) {
	var where strings.Builder
	add := func(condition string, v any) {
		args = append(args, v)
		fmt.Fprintf(&where, " AND "+condition, len(args))
	}
	args = append(args, texts(f.Owners), f.Limit)
	statement := selectJobs
	if f.BatchID != "" {
		statement = selectBatch
		args = append(args, f.BatchID)
	}
	if len(f.States) > 0 {
		add("j.state = ANY($%d::text[])", texts(f.States))
	}
	if f.RunnerID != "" {
		add("(j.runner_id = $%[1]d OR j.lease_runner_id = $%[1]d OR EXISTS ("+
			"SELECT FROM attempts a WHERE a.job_id = j.id AND a.runner_id = $%[1]d))", f.RunnerID)
	}
	if f.WorkspaceID != "" {
		add("j.workspace_id = $%d", f.WorkspaceID)
	}
	since := func(condition string, t time.Time) {
		if !t.IsZero() {
			add(condition, t)
		}
	}
	since("j.created_at >= $%d", f.Since)
	since("j.created_at < $%d", f.Until)
	if f.BeforeID != "" {
		add("j.id < $%d", f.BeforeID)
	}
	return fmt.Sprintf(statement, where.String()), args
}
