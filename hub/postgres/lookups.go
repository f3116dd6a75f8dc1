package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/runnerhub/runnerhub/hub"
)

// headPage is how many jobs of a queue are looked up together.
const headPage = 50

// lookups are what nearly every call of a hub begins with.
type lookups struct {
	keys        *gatherer[string, userKey]        // by digest
	tokens      *gatherer[string, hub.Runner]     // by digest
	runners     *gatherer[string, hub.Runner]     // by id
	workspaces  *gatherer[string, hub.Workspace]  // by id
	memberships *gatherer[string, hub.Membership] // by user
	jobs        *gatherer[string, hub.Job]        // by id
	payloads    *gatherer[string, hub.JobPayload] // by job
	held        *gatherer[string, hub.Job]        // by runner
	heads       *gatherer[string, hub.QueuedJob]  // by queue: its first page
}

// newLookups: what no store could hold (texts) must not spoil the query for others.
func newLookups(s *Store) lookups {
	return lookups{
		keys: newGatherer(s, "find an API key", func(ctx context.Context, digests []string) ([]userKey, error) {
			return rows(ctx, s, scanUserKey, selectUsersByKey, bytesOf(digests))
		}, func(p userKey) string { return string(p.key.Digest) }),
		tokens: newGatherer(s, "find a runner", func(ctx context.Context, digests []string) ([]hub.Runner, error) {
			return rows(ctx, s, scanRunner, selectRunnersByToken, bytesOf(digests))
		}, func(r hub.Runner) string { return string(r.TokenDigest) }),
		runners: newGatherer(s, "get a runner", func(ctx context.Context, ids []string) ([]hub.Runner, error) {
			return rows(ctx, s, scanRunner, selectRunnersByID, texts(ids))
		}, func(r hub.Runner) string { return r.ID }),
		workspaces: newGatherer(s, "get a workspace", func(ctx context.Context, ids []string) ([]hub.Workspace, error) {
			return rows(ctx, s, scanWorkspace, selectWorkspaces, texts(ids))
		}, func(w hub.Workspace) string { return w.ID }),
		memberships: newGatherer(s, "list memberships", func(ctx context.Context, users []string) ([]hub.Membership, error) {
			return rows(ctx, s, scanMembership, selectMemberships, texts(users))
		}, func(m hub.Membership) string { return m.UserID }),
		jobs: newGatherer(s, "get a job", func(ctx context.Context, ids []string) ([]hub.Job, error) {
			return rows(ctx, s, scanJob, selectJobsByID, texts(ids))
		}, func(j hub.Job) string { return j.ID }),
		payloads: newGatherer(s, "get a job's payload", func(ctx context.Context, ids []string) ([]hub.JobPayload, error) {
			return rows(ctx, s, scanPayload, selectPayloads, texts(ids))
		}, func(p hub.JobPayload) string { return p.JobID }),
		held: newGatherer(s, "list a runner's jobs", func(ctx context.Context, ids []string) ([]hub.Job, error) {
			return rows(ctx, s, scanJob, selectHeld, texts(ids))
		}, func(j hub.Job) string { return j.LeaseRunnerID }),
		heads: newGatherer(s, "list a queue", func(ctx context.Context, keys []string) ([]hub.QueuedJob, error) {
			return rows(ctx, s, scanQueued, selectHeads, texts(keys), headPage)
		}, func(q hub.QueuedJob) string { return string(q.Job.QueueKey()) }),
	}
}

// rows runs one query and gathers its rows.
func rows[T any](ctx context.Context, s *Store, scan pgx.RowToFunc[T], sql string, args ...any) ([]T, error) {
	list, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(list, scan)
}

func bytesOf(list []string) [][]byte {
	out := make([][]byte, len(list))
	for i, s := range list {
		out[i] = []byte(s)
	}
	return out
}
