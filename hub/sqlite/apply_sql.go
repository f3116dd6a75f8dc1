package sqlite

const (
	updateJob = `UPDATE jobs SET
			state = ?, revision = ?, rank = ?, attempt = ?, epoch = ?, losses = ?,
			lease_runner_id = ?, lease_digest = ?, lease_request_id = ?, lease_expires_at = ?, deadline_at = ?,
			phase = ?, step = ?, progress = ?, cancel_requested_at = ?, cancel_reason = ?,
			failure_class = ?, failure_message = ?, failure_hint = ?, failure_container = ?,
			queued_at = ?, started_at = ?, ended_at = ?, held = ?
		WHERE id = ? AND state = ? AND epoch = ? AND revision = ?`

	selectRevoked = `SELECT EXISTS (SELECT 1 FROM runners WHERE id = ? AND revoked_at IS NOT NULL)`

	selectGuard = `SELECT 1 FROM jobs WHERE id = ? AND state = ? AND epoch = ? AND revision = ?`

	insertAttempt = `INSERT INTO attempts (job_id, number, runner_id, epoch, state, lease_digest, log_digest, leased_at, started_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
	startAttempt = `UPDATE attempts SET state = 'running', started_at = ?
		WHERE job_id = ? AND number = ? AND state = 'leased'`
	endAttempt = `UPDATE attempts SET state = ?, ended_at = ?, report_digest = ?,
			failure_class = ?, failure_message = ?, failure_hint = ?, failure_container = ?
		WHERE job_id = ? AND number = ? AND state IN ('leased', 'running')`
	insertResult = `INSERT INTO results (job_id, number, result) VALUES (?, ?, ?)`

	attemptColumns = `a.job_id, a.number, a.runner_id, a.epoch, a.state, a.lease_digest, a.log_digest,
		a.leased_at, a.started_at, a.ended_at,
		a.failure_class, a.failure_message, a.failure_hint, a.failure_container, a.report_digest, a.log_size`
	selectAttempt = `SELECT ` + attemptColumns + `, r.result
		FROM attempts a LEFT JOIN results r ON r.job_id = a.job_id AND r.number = a.number
		WHERE a.job_id = ? AND a.number = ?`
	selectAttempts = `SELECT ` + attemptColumns + `, NULL FROM attempts a WHERE a.job_id = ? ORDER BY a.number`
	attemptByLog   = `SELECT ` + attemptColumns + `, r.result
		FROM attempts a INDEXED BY attempts_log LEFT JOIN results r ON r.job_id = a.job_id AND r.number = a.number
		WHERE a.log_digest = ?`

	insertEvent = `INSERT INTO events
			(at, actor, on_behalf_of, action, address, owner, workspace_id, job_id, attempt, runner_id, detail)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	listEvents = `SELECT id, at, actor, on_behalf_of, action, address, owner, workspace_id, job_id, attempt, runner_id, detail
		FROM events INDEXED BY events_job WHERE job_id = ? AND job_id <> '' ORDER BY id`
)
