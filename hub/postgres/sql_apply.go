package postgres

// The parameters of a write: 1 to 11 the event, 12 to 15 the guard, 16 to 38 the row, from 39 on what
// else is written. A heartbeat has no event, so that its parameters begin with the guard.
const (
	applyRow = `
		UPDATE jobs SET state = $16, revision = $17, rank = $18, attempt = $19, epoch = $20, losses = $21,
			lease_runner_id = $22, lease_digest = $23, lease_request_id = $24, lease_expires_at = $25, deadline_at = $26,
			phase = $27, step = $28, progress = $29, cancel_requested_at = $30, cancel_reason = $31,
			failure_class = $32, failure_message = $33, failure_hint = $34, failure_container = $35,
			queued_at = $36, started_at = $37, ended_at = $38
		WHERE id = $12 AND state = $13 AND epoch = $14 AND revision = $15`

	// applyQuiet changes a row of which there is nothing to tell: a lease was renewed. None of the columns that
	// it really changes is in an index, so that the new row stays in its page (HOT).
	applyQuiet = `
		UPDATE jobs SET state = $5, revision = $6, rank = $7, attempt = $8, epoch = $9, losses = $10,
			lease_runner_id = $11, lease_digest = $12, lease_request_id = $13, lease_expires_at = $14, deadline_at = $15,
			phase = $16, step = $17, progress = $18, cancel_requested_at = $19, cancel_reason = $20,
			failure_class = $21, failure_message = $22, failure_hint = $23, failure_container = $24,
			queued_at = $25, started_at = $26, ended_at = $27
		WHERE id = $1 AND state = $2 AND epoch = $3 AND revision = $4`

	// applyPlain changes the row alone.
	applyPlain = `WITH done AS (` + applyRow + ` RETURNING 1),
		event AS (` + insertEvent + ` WHERE $4 <> '')
		SELECT EXISTS (SELECT FROM done)`

	// applyLease begins an attempt, unless its owner has $47 of them live, or its workspace $49 on that owner's
	// runners (0: no cap), or another live job holds its group ($51, '' for none). It also answers which of these it was.
	// Two leases of one group at once both find it free: then the index jobs_group refuses the later one.
	applyLease = `WITH room AS MATERIALIZED (
			SELECT $47::int = 0 OR (SELECT count(*) FROM (
				SELECT FROM jobs WHERE owner = $48::text AND state IN ('leased', 'running') LIMIT $47::int
			) l) < $47::int AS ok
		), share AS MATERIALIZED (
			SELECT $49::int = 0 OR (SELECT count(*) FROM (
				SELECT FROM jobs WHERE owner = $48::text AND workspace_id = $50::text AND state IN ('leased', 'running') LIMIT $49::int
			) l) < $49::int AS ok
		), free AS MATERIALIZED (
			SELECT $51::text = '' OR NOT EXISTS (
				SELECT FROM jobs WHERE workspace_id = $50::text AND concurrency_group = $51::text
					AND concurrency_group <> '' AND state IN ('leased', 'running')) AS ok
		), done AS (` + applyRow + ` AND (SELECT ok FROM room) AND (SELECT ok FROM share) AND (SELECT ok FROM free) RETURNING 1),
		attempt AS (
			INSERT INTO attempts (job_id, number, runner_id, epoch, state, lease_digest, log_digest, leased_at, started_at)
			SELECT $12, $39::int, $40::text, $41::bigint, $42::text, $43::bytea, $44::bytea, $45::timestamptz, $46::timestamptz
			FROM done
		), event AS (` + insertEvent + ` WHERE $4 <> '')
		SELECT EXISTS (SELECT FROM done), CASE
			WHEN NOT EXISTS (SELECT FROM jobs WHERE id = $12 AND state = $13 AND epoch = $14 AND revision = $15) THEN ''
			WHEN NOT (SELECT ok FROM room) THEN '` + refusedOwner + `'
			WHEN NOT (SELECT ok FROM share) THEN '` + refusedWorkspace + `'
			WHEN NOT (SELECT ok FROM free) THEN '` + refusedGroup + `'
			ELSE '' END`

	// What a lease was refused for.
	refusedOwner     = "owner"
	refusedWorkspace = "workspace"
	refusedGroup     = "group"

	// itsAttempt holds a write to an attempt in the states it may be in. To look is enough: an attempt changes
	// only together with its job's revision, which the guard has.
	itsAttempt = ` AND EXISTS (SELECT FROM attempts WHERE job_id = $12 AND number = $19 AND state `

	// applyStart acknowledges an attempt.
	applyStart = `WITH done AS (` + applyRow + itsAttempt + `= 'leased') RETURNING 1),
		attempt AS (
			UPDATE attempts SET state = 'running', started_at = $37
			FROM done WHERE job_id = $12 AND number = $19
		), event AS (` + insertEvent + ` WHERE $4 <> '')
		SELECT EXISTS (SELECT FROM done)`

	// applyEnd ends an attempt and keeps its result, if there is one.
	applyEnd = `WITH done AS (` + applyRow + itsAttempt + `IN ('leased', 'running')) RETURNING 1),
		attempt AS (
			UPDATE attempts SET state = $39::text, ended_at = $40::timestamptz, report_digest = $41::bytea,
				failure_class = $42::text, failure_message = $43::text, failure_hint = $44::text, failure_container = $45::text
			FROM done WHERE job_id = $12 AND number = $19
		), result AS (
			INSERT INTO results (job_id, number, result) SELECT $12, $19, $46::bytea FROM done WHERE $46::bytea IS NOT NULL
		), event AS (` + insertEvent + ` WHERE $4 <> '')
		SELECT EXISTS (SELECT FROM done)`
)
