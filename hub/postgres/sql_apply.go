package postgres

import (
	"slices"
	"strings"

	"github.com/runnerhub/runnerhub/hub"
)

// insertEvents is the part of a statement that writes the event of each row of "done" that has one.
const insertEvents = `
	INSERT INTO events (` + eventColumns + `)
	SELECT at, actor, on_behalf_of, action, address, event_owner, event_workspace, event_job, event_attempt, event_runner,
		detail::jsonb
	FROM done WHERE action <> ''`

// What a lease was refused for; the first of several is told.
const (
	refusedRunner    = 1
	refusedOwner     = 2
	refusedWorkspace = 3
	refusedGroup     = 4
)

// The parts that every write of a row has: o is the change.
const (
	updateRows = `
	UPDATE jobs j SET state = o.state, revision = o.revision, rank = o.rank, attempt = o.attempt, epoch = o.epoch, losses = o.losses,
		lease_runner_id = o.lease_runner_id, lease_digest = o.lease_digest, lease_request_id = o.lease_request_id,
		lease_expires_at = o.lease_expires_at, deadline_at = o.deadline_at,
		phase = o.phase, step = o.step, progress = o.progress,
		cancel_requested_at = o.cancel_requested_at, cancel_reason = o.cancel_reason,
		failure_class = o.failure_class, failure_message = o.failure_message,
		failure_hint = o.failure_hint, failure_container = o.failure_container,
		queued_at = o.queued_at, started_at = o.started_at, ended_at = o.ended_at, held = o.held::jsonb`

	itsRow = `j.id = o.id AND j.state = o.guard_state AND j.epoch = o.guard_epoch AND j.revision = o.guard_revision`
)

// renewLeases writes rows and nothing else. None of the columns that really change is in an index, so that the new row
// stays in its page (HOT). It answers with the number of each that was written; the others found another row.
var renewLeases = updateRows + `
	FROM (` + rowsOf(rowFields) + `) o WHERE ` + itsRow + ` RETURNING o.n::int`

// needs are what a group of changes makes use of. Most of what a small group costs is to start its statement, and that
// grows with each part and each column of it, so that a statement has those parts alone that its group needs.
type needs struct {
	leases bool // gives leases
	groups bool // of jobs that are in a group
	starts bool // acknowledges leases
	ends   bool // ends attempts
}

// statement is a text and the fields that are its parameters.
type statement struct {
	sql    string
	fields []field[*hub.Change]
}

// applyChanges are the statements that write decisions, by what they need, each guarded by the row that it was made
// on. One answers with the number of each that was written (0), and of each lease that was refused though its guard
// holds, with the reason. Those of neither found another row.
//
// Caps count what was live before, and as if all the leases of this statement that come before were given. Two
// leases of one group both find it free: then the index jobs_group refuses the statement.
//
// To look whether an attempt is in the state that it is changed from is enough: an attempt changes
// only together with its job's revision, which the guard has. It is looked up one by one: EXISTS would be
// answered from a hash of all that are live.
var applyChanges = func() map[needs]statement {
	all := map[needs]statement{}
	for i := range 16 {
		n := needs{leases: i&1 > 0, groups: i&2 > 0, starts: i&4 > 0, ends: i&8 > 0}
		if n.leases || !n.groups {
			all[n] = n.statement()
		}
	}
	return all
}()

func (n needs) statement() statement {
	fields := slices.Concat(rowFields, changeFields)
	parts := []string{}
	reasons, unrefused := "", ""
	if n.leases {
		fields = append(fields, leaseFields...)
		parts, reasons, unrefused = append(parts, countsForCaps), reasonsOfCaps, `
		AND o.n NOT IN (SELECT n FROM reasons)`
	}
	if n.groups {
		fields = append(fields, groupFields...)
		reasons += `
	UNION ALL` + reasonsOfGroups
	}
	if n.leases {
		parts = append(parts, `reasons AS MATERIALIZED (`+reasons+`
)`)
	}
	done := updateRows + ` FROM ops o
	WHERE ` + itsRow + unrefused
	after := []string{}
	if n.leases {
		after = append(after, beginAttempts)
	}
	if n.starts {
		fields = append(fields, startFields...)
		done += `
		AND (NOT o.starts OR (
			SELECT a.state FROM attempts a WHERE a.job_id = o.id AND a.number = o.attempt) = 'leased')`
		after = append(after, startAttempts)
	}
	if n.ends {
		fields = append(fields, endFields...)
		done += `
		AND (o.end_state IS NULL OR (
			SELECT a.state FROM attempts a WHERE a.job_id = o.id AND a.number = o.attempt) IN ('leased', 'running'))`
		after = append(after, endAttempts)
	}
	parts = slices.Concat([]string{`ops AS MATERIALIZED (` + rowsOf(fields) + `)`}, parts, []string{`done AS (` + done + `
	RETURNING o.*
)`}, after, []string{`event AS (` + insertEvents + `)`})
	sql := `
WITH ` + strings.Join(parts, `,
`) + `
SELECT n::int, 0 FROM done`
	if n.leases {
		sql += `
UNION ALL
SELECT o.n::int, r.reason FROM (SELECT n, min(reason) AS reason FROM reasons GROUP BY n) r JOIN ops o USING (n)
JOIN jobs j ON ` + itsRow
	}
	return statement{sql, fields}
}

// The parts that a statement has when its group needs them.
const (
	countsForCaps = `live AS MATERIALIZED (
	SELECT c.owner, (SELECT count(*) FROM (
		SELECT FROM jobs j WHERE j.owner = c.owner AND j.state IN ('leased', 'running') LIMIT c.most
	) l) AS jobs
	FROM (SELECT owner, max(max_running) AS most FROM ops WHERE max_running > 0 GROUP BY owner) c
), shares AS MATERIALIZED (
	SELECT c.owner, c.workspace_id, (SELECT count(*) FROM (
		SELECT FROM jobs j WHERE j.owner = c.owner AND j.workspace_id = c.workspace_id AND j.state IN ('leased', 'running')
		LIMIT c.most
	) l) AS jobs
	FROM (
		SELECT owner, workspace_id, max(max_share) AS most FROM ops WHERE max_share > 0 GROUP BY owner, workspace_id
	) c
)`

	reasonsOfCaps = `
	SELECT o.n, 1 AS reason FROM ops o JOIN runners r ON r.id = o.lease_runner_id WHERE o.leases AND r.revoked_at IS NOT NULL
	UNION ALL
	SELECT o.n, 2 FROM (
		SELECT n, owner, max_running, row_number() OVER (PARTITION BY owner ORDER BY n) AS turn
		FROM ops WHERE max_running > 0
	) o JOIN live USING (owner) WHERE live.jobs + o.turn > o.max_running
	UNION ALL
	SELECT o.n, 3 FROM (
		SELECT n, owner, workspace_id, max_share, row_number() OVER (PARTITION BY owner, workspace_id ORDER BY n) AS turn
		FROM ops WHERE max_share > 0
	) o JOIN shares USING (owner, workspace_id) WHERE shares.jobs + o.turn > o.max_share`

	reasonsOfGroups = `
	SELECT o.n, 4 FROM ops o CROSS JOIN LATERAL (
		SELECT FROM jobs j WHERE j.workspace_id = o.workspace_id AND j.concurrency_group = o.concurrency_group
			AND j.concurrency_group <> '' AND j.state IN ('leased', 'running') LIMIT 1
	) holder WHERE o.leases AND o.concurrency_group <> ''`

	beginAttempts = `leased AS (
	INSERT INTO attempts (job_id, number, runner_id, epoch, state, lease_digest, log_digest, leased_at)
	SELECT id, attempt, lease_runner_id, epoch, 'leased', lease_digest, log_digest, leased_at
	FROM done WHERE leases
)`

	startAttempts = `started AS (
	UPDATE attempts a SET state = 'running', started_at = d.started_at
	FROM done d WHERE d.starts AND a.job_id = d.id AND a.number = d.attempt
)`

	endAttempts = `ended AS (
	UPDATE attempts a SET state = d.end_state, ended_at = d.end_at, report_digest = d.report_digest,
		failure_class = d.end_class, failure_message = d.end_message, failure_hint = d.end_hint, failure_container = d.end_container
	FROM done d WHERE d.end_state IS NOT NULL AND a.job_id = d.id AND a.number = d.attempt
), result AS (
	INSERT INTO results (job_id, number, result) SELECT id, attempt, result FROM done WHERE result IS NOT NULL
)`
)
