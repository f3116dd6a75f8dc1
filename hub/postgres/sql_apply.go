package postgres

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
		queued_at = o.queued_at, started_at = o.started_at, ended_at = o.ended_at`

	itsRow = `j.id = o.id AND j.state = o.guard_state AND j.epoch = o.guard_epoch AND j.revision = o.guard_revision`
)

// renewLeases writes rows and nothing else. None of the columns that really change is in an index, so that the new row
// stays in its page (HOT). It answers with the number of each that was written; the others found another row.
var renewLeases = updateRows + `
	FROM (` + rowsOf(rowFields) + `) o WHERE ` + itsRow + ` RETURNING o.n::int`

// applyChanges writes decisions, each guarded by the row that it was made on. It answers with the number of each
// that was written (0), and of each lease that was refused though its guard holds, with the reason. Those of
// neither found another row.
//
// Caps count what was live before, and as if all the leases of this statement that come before were given. Two
// leases of one group both find it free: then the index jobs_group refuses the statement.
//
// To look whether an attempt is in the state that it is changed from is enough: an attempt changes
// only together with its job's revision, which the guard has. It is looked up one by one: EXISTS would be
// answered from a hash of all that are live.
var applyChanges = `
WITH ops AS MATERIALIZED (` + rowsOf(changeFields) + `),
live AS MATERIALIZED (
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
), reasons AS MATERIALIZED (
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
	) o JOIN shares USING (owner, workspace_id) WHERE shares.jobs + o.turn > o.max_share
	UNION ALL
	SELECT o.n, 4 FROM ops o CROSS JOIN LATERAL (
		SELECT FROM jobs j WHERE j.workspace_id = o.workspace_id AND j.concurrency_group = o.concurrency_group
			AND j.concurrency_group <> '' AND j.state IN ('leased', 'running') LIMIT 1
	) holder WHERE o.leases AND o.concurrency_group <> ''
), done AS (
` + updateRows + ` FROM ops o
	WHERE ` + itsRow + `
		AND o.n NOT IN (SELECT n FROM reasons)
		AND (NOT o.starts OR (
			SELECT a.state FROM attempts a WHERE a.job_id = o.id AND a.number = o.attempt) = 'leased')
		AND (o.end_state IS NULL OR (
			SELECT a.state FROM attempts a WHERE a.job_id = o.id AND a.number = o.attempt) IN ('leased', 'running'))
	RETURNING o.*
), leased AS (
	INSERT INTO attempts (job_id, number, runner_id, epoch, state, lease_digest, log_digest, leased_at)
	SELECT id, attempt, lease_runner_id, epoch, 'leased', lease_digest, log_digest, leased_at
	FROM done WHERE leases
), started AS (
	UPDATE attempts a SET state = 'running', started_at = d.started_at
	FROM done d WHERE d.starts AND a.job_id = d.id AND a.number = d.attempt
), ended AS (
	UPDATE attempts a SET state = d.end_state, ended_at = d.end_at, report_digest = d.report_digest,
		failure_class = d.end_class, failure_message = d.end_message, failure_hint = d.end_hint, failure_container = d.end_container
	FROM done d WHERE d.end_state IS NOT NULL AND a.job_id = d.id AND a.number = d.attempt
), result AS (
	INSERT INTO results (job_id, number, result) SELECT id, attempt, result FROM done WHERE result IS NOT NULL
), event AS (` + insertEvents + `)
SELECT n::int, 0 FROM done
UNION ALL
SELECT o.n::int, r.reason FROM (SELECT n, min(reason) AS reason FROM reasons GROUP BY n) r JOIN ops o USING (n)
JOIN jobs j ON ` + itsRow
