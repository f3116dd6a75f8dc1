package postgres

import (
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/runnerhub/runnerhub/hub"
)

// rowFields are the guard of a change and the row that it writes.
var rowFields = append([]field[*hub.Change]{
	of("id", "text", func(c *hub.Change) string { return c.Job.ID }),
	of("guard_state", "text", func(c *hub.Change) string { return string(c.Guard.State) }),
	of("guard_epoch", "bigint", func(c *hub.Change) int64 { return c.Guard.Epoch }),
	of("guard_revision", "bigint", func(c *hub.Change) int64 { return c.Guard.Revision }),
	of("state", "text", func(c *hub.Change) string { return string(c.Job.State) }),
	of("revision", "bigint", func(c *hub.Change) int64 { return c.Job.Revision }),
	of("rank", "int", func(c *hub.Change) int32 { return int32(c.Job.Rank) }),
	of("attempt", "int", func(c *hub.Change) int32 { return int32(c.Job.Attempt) }),
	of("epoch", "bigint", func(c *hub.Change) int64 { return c.Job.Epoch }),
	of("losses", "int", func(c *hub.Change) int32 { return int32(c.Job.Losses) }),
	of("lease_runner_id", "text", func(c *hub.Change) string { return c.Job.LeaseRunnerID }),
	of("lease_digest", "bytea", func(c *hub.Change) []byte { return c.Job.LeaseDigest }),
	of("lease_request_id", "text", func(c *hub.Change) string { return text(c.Job.LeaseRequestID) }),
	of("lease_expires_at", "timestamptz", func(c *hub.Change) stamp { return stamp(c.Job.LeaseExpiresAt) }),
	of("deadline_at", "timestamptz", func(c *hub.Change) stamp { return stamp(c.Job.DeadlineAt) }),
	of("phase", "text", func(c *hub.Change) string { return text(c.Job.Phase) }),
	of("step", "text", func(c *hub.Change) string { return text(c.Job.Step) }),
	of("progress", "text", func(c *hub.Change) string { return text(c.Job.Progress) }),
	of("cancel_requested_at", "timestamptz", func(c *hub.Change) stamp { return stamp(c.Job.CancelRequestedAt) }),
	of("cancel_reason", "text", func(c *hub.Change) string { return text(c.Job.CancelReason) }),
	of("queued_at", "timestamptz", func(c *hub.Change) stamp { return stamp(c.Job.QueuedAt) }),
	of("started_at", "timestamptz", func(c *hub.Change) stamp { return stamp(c.Job.StartedAt) }),
	of("ended_at", "timestamptz", func(c *hub.Change) stamp { return stamp(c.Job.EndedAt) }),
	of("held", "text", func(c *hub.Change) *string { return document(c.Job.Held) }),
}, failureFields("failure_", func(c *hub.Change) *hub.Failure { return c.Job.Failure })...)

// changeFields are the event of a change, which nearly every one has.
var changeFields = eventFields(func(c *hub.Change) hub.Event {
	e := c.Event
	e.Action, e.Detail = c.Action, c.Detail
	return e
})

// leaseFields are what a lease has beside its row; other changes have none of it.
var leaseFields = []field[*hub.Change]{
	of("owner", "text", func(c *hub.Change) string { return string(c.Job.Owner) }),
	of("workspace_id", "text", func(c *hub.Change) string { return c.Job.WorkspaceID }),
	of("max_running", "int", func(c *hub.Change) int32 { return int32(caps(c).owner) }),
	of("max_share", "int", func(c *hub.Change) int32 { return int32(caps(c).workspace) }),
	of("leases", "boolean", func(c *hub.Change) bool { return c.NewAttempt != nil }),
	of("log_digest", "bytea", func(c *hub.Change) []byte { return begun(c).LogDigest }),
	of("leased_at", "timestamptz", func(c *hub.Change) stamp { return stamp(begun(c).LeasedAt) }),
}

// groupFields are those of a lease in a group.
var groupFields = []field[*hub.Change]{
	of("concurrency_group", "text", func(c *hub.Change) string { return text(c.Job.Group) }),
}

// startFields are those of an acknowledgement.
var startFields = []field[*hub.Change]{of("starts", "boolean", func(c *hub.Change) bool { return c.Started })}

// endFields are how an attempt ended.
var endFields = append([]field[*hub.Change]{
	of("end_state", "text", func(c *hub.Change) *string { return optional(string(ended(c).State)) }),
	of("end_at", "timestamptz", func(c *hub.Change) stamp { return stamp(ended(c).At) }),
	of("report_digest", "bytea", func(c *hub.Change) []byte { return ended(c).ReportDigest }),
	of("result", "bytea", func(c *hub.Change) []byte { return ended(c).Result }),
}, failureFields("end_", func(c *hub.Change) *hub.Failure { return ended(c).Failure })...)

// needsOf says what a group makes use of.
func needsOf(ops []*hub.Change) (n needs) {
	for _, c := range ops {
		n.leases = n.leases || c.NewAttempt != nil
		n.groups = n.groups || c.NewAttempt != nil && c.Job.Group != ""
		n.starts = n.starts || c.Started
		n.ends = n.ends || c.EndAttempt != nil
	}
	return n
}

// capsOf are the caps that a change is subject to, 0 for none.
type capsOf struct{ owner, workspace int }

func caps(c *hub.Change) capsOf {
	if c.NewAttempt == nil { // only a lease is
		return capsOf{}
	}
	return capsOf{c.MaxRunning, c.MaxRunningPerWorkspace}
}

func begun(c *hub.Change) hub.Attempt {
	if c.NewAttempt == nil {
		return hub.Attempt{}
	}
	return *c.NewAttempt
}

func ended(c *hub.Change) hub.AttemptEnd {
	if c.EndAttempt == nil {
		return hub.AttemptEnd{}
	}
	return *c.EndAttempt
}

// Apply implements hub.JobStore.
func (s *Store) Apply(ctx context.Context, c hub.Change) error {
	if c.Unchanged {
		return nil
	}
	switch {
	case c.NewAttempt != nil:
		return s.intake.do(ctx, &intake{lease: &c})
	case c.Action == "" && !c.Started && c.EndAttempt == nil:
		return s.renewals.do(ctx, &c)
	default:
		return s.changes.do(ctx, &c)
	}
}

// applyAll writes changes in one transaction, of one job each, and says what became of each.
func (s *Store) applyAll(ctx context.Context, ops []*hub.Change) ([]error, error) {
	outcome := conflicts(len(ops))
	place := map[*hub.Change]int{}
	for i, c := range ops {
		place[c] = i
	}
	var b pgx.Batch
	queueChanges(&b, ops, func(c *hub.Change, err error) { outcome[place[c]] = err })
	return outcome, s.send(ctx, &b)
}

// queueChanges adds the statement that writes changes; told hears of each that was written or refused, and of the
// others, which found another row, nothing.
func queueChanges(b *pgx.Batch, ops []*hub.Change, told func(*hub.Change, error)) {
	_, sorted := inOrder(ops)
	st := applyChanges[needsOf(sorted)]
	b.Queue(st.sql, argsOf(st.fields, sorted)...).Query(func(rows pgx.Rows) error {
		var n, reason int
		_, err := pgx.ForEachRow(rows, []any{&n, &reason}, func() error {
			told(sorted[n-1], refusal(sorted[n-1], reason))
			return nil
		})
		return err
	})
}

// renewAll writes changes of which there is nothing to tell and that concern a row alone: leases are renewed far more
// often than anything else happens, and most of what applyChanges costs is what they do not need.
func (s *Store) renewAll(ctx context.Context, ops []*hub.Change) ([]error, error) {
	order, sorted := inOrder(ops)
	outcome := conflicts(len(ops))
	done, err := rows(ctx, s, pgx.RowTo[int], renewLeases, argsOf(rowFields, sorted)...)
	for _, n := range done {
		outcome[order[n-1]] = nil
	}
	return outcome, err
}

// inOrder sorts changes by job, since whoever locks rows in the same order never waits in a circle, and says where each was.
func inOrder(ops []*hub.Change) (order []int, sorted []*hub.Change) {
	for i := range ops {
		order = append(order, i)
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(ops[a].Job.ID, ops[b].Job.ID) })
	for _, i := range order {
		sorted = append(sorted, ops[i])
	}
	return order, sorted
}

// conflicts is the outcome of changes until one is known to be written.
func conflicts(n int) []error {
	out := make([]error, n)
	for i := range out {
		out[i] = hub.ErrConflict
	}
	return out
}

// refusal says why a lease was refused, nil when it was not.
func refusal(c *hub.Change, reason int) error {
	switch reason {
	case refusedRunner:
		return hub.ErrRevoked
	case refusedOwner:
		return hub.OverRunning(c.MaxRunning)
	case refusedWorkspace:
		return hub.OverWorkspace(c.MaxRunningPerWorkspace)
	case refusedGroup:
		return hub.ErrGroupBusy
	}
	return nil
}
