package sqlite

const (
	jobColumns = `j.id, j.workspace_id, j.owner, j.runner_id, j.state, j.revision, j.priority, j.rank,
		j.attempt, j.epoch, j.losses, j.max_attempts,
		j.lease_runner_id, j.lease_digest, j.lease_request_id, j.lease_expires_at, j.deadline_at,
		j.phase, j.step, j.progress, j.cancel_requested_at, j.cancel_reason,
		j.failure_class, j.failure_message, j.failure_hint, j.failure_container,
		j.created_at, j.queued_at, j.started_at, j.ended_at, j.concurrency_group, j.held`
	// A payload without its spec.
	payloadColumns = `p.job_id, p.name, p.requires, p.labels, p.timeout_ns, p.grace_ns, p.retry_on, p.submitted_by, p.retry_of,
		p.cancel_running, p.needs, p.hold_ns, p.allows_exec, p.batch_id`

	selectKey = `SELECT job_id, fingerprint FROM idempotency_keys WHERE scope = ? AND key = ?`
	insertKey = `INSERT INTO idempotency_keys (scope, key, fingerprint, job_id, created_at) VALUES (?, ?, ?, ?, ?)`

	// Counts no further than the cap.
	countQueued = `SELECT count(*) FROM (
		SELECT 1 FROM jobs INDEXED BY jobs_claim WHERE queue_key = ? AND state = 'queued' LIMIT ?)`

	insertJob = `INSERT INTO jobs (queue_key,
			id, workspace_id, owner, runner_id, state, revision, priority, rank,
			attempt, epoch, losses, max_attempts,
			lease_runner_id, lease_digest, lease_request_id, lease_expires_at, deadline_at,
			phase, step, progress, cancel_requested_at, cancel_reason,
			failure_class, failure_message, failure_hint, failure_container,
			created_at, queued_at, started_at, ended_at, concurrency_group)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	insertPayload = `INSERT INTO job_payloads
			(job_id, name, requires, labels, timeout_ns, grace_ns, retry_on, submitted_by, retry_of, cancel_running, needs, hold_ns, allows_exec, batch_id, spec)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	selectJob     = `SELECT ` + jobColumns + ` FROM jobs j WHERE j.id = ?`
	selectPayload = `SELECT ` + payloadColumns + `, p.spec FROM job_payloads p WHERE p.job_id = ?`

	listQueued = `SELECT ` + jobColumns + `, ` + payloadColumns + `
		FROM jobs j INDEXED BY jobs_claim JOIN job_payloads p ON p.job_id = j.id
		WHERE j.queue_key = ? AND j.state = 'queued' AND (j.rank, j.id) > (?, ?)
		ORDER BY j.rank, j.id LIMIT ?`
	// Reads over the queue's other jobs, of which there are at most the cap on a queue.
	listQueuedOf = `SELECT ` + jobColumns + `, ` + payloadColumns + `
		FROM jobs j INDEXED BY jobs_claim JOIN job_payloads p ON p.job_id = j.id
		WHERE j.queue_key = ? AND j.state = 'queued' AND (j.rank, j.id) > (?, ?) AND j.workspace_id = ?
		ORDER BY j.rank, j.id LIMIT ?`
	shares = `SELECT q.workspace_id, q.rank, q.id, (
			SELECT count(*) FROM jobs l INDEXED BY jobs_live_owner
			WHERE l.owner = ? AND l.state IN ('leased', 'running') AND l.workspace_id = q.workspace_id) AS live
		FROM (
			SELECT workspace_id, rank, id, row_number() OVER (PARTITION BY workspace_id ORDER BY rank, id) AS n
			FROM jobs INDEXED BY jobs_claim WHERE queue_key = ? AND state = 'queued'
		) q WHERE q.n = 1 ORDER BY live, q.rank, q.id`

	selectGroupHolder = `SELECT id FROM jobs INDEXED BY jobs_group
		WHERE workspace_id = ? AND concurrency_group = ? AND concurrency_group <> '' AND state IN ('leased', 'running')`
	listGroup = `SELECT ` + jobColumns + `, ` + payloadColumns + `
		FROM jobs j INDEXED BY jobs_group_queue JOIN job_payloads p ON p.job_id = j.id
		WHERE j.workspace_id = ? AND j.concurrency_group = ? AND j.concurrency_group <> '' AND j.state = 'queued'
		ORDER BY j.rank, j.id LIMIT ?`

	countAhead = `SELECT count(*) FROM jobs INDEXED BY jobs_claim
		WHERE queue_key = ? AND state = 'queued' AND (rank, id) < (?, ?)`

	// Jumps from key to key in the index, and looks into each queue until it finds one job.
	queueKeys = `WITH RECURSIVE keys (k) AS (
			SELECT min(queue_key) FROM jobs WHERE state = 'queued'
			UNION ALL
			SELECT (SELECT min(queue_key) FROM jobs WHERE state = 'queued' AND queue_key > k) FROM keys WHERE k IS NOT NULL)
		SELECT k FROM keys WHERE k IS NOT NULL AND EXISTS (
			SELECT 1 FROM jobs INDEXED BY jobs_claim WHERE queue_key = k AND state = 'queued' AND queued_at < ?)`

	listLive = `SELECT ` + jobColumns + `, ` + payloadColumns + `, r.revoked_at IS NOT NULL
		FROM jobs j INDEXED BY jobs_live JOIN job_payloads p ON p.job_id = j.id
			LEFT JOIN runners r ON r.id = j.lease_runner_id
		WHERE j.state IN ('leased', 'running') AND j.id > ? ORDER BY j.id LIMIT ?`
	liveOfRunner = `SELECT ` + jobColumns + ` FROM jobs j INDEXED BY jobs_live_runner
		WHERE j.lease_runner_id = ? AND j.state IN ('leased', 'running') ORDER BY j.id`
	countLive = `SELECT lease_runner_id, count(*) FROM jobs INDEXED BY jobs_live_owner
		WHERE owner = ? AND state IN ('leased', 'running') GROUP BY lease_runner_id`
	// Counts no further than the cap.
	countRunning = `SELECT count(*) FROM (
		SELECT 1 FROM jobs INDEXED BY jobs_live_owner WHERE owner = ? AND state IN ('leased', 'running') LIMIT ?)`

	countShare = `SELECT count(*) FROM (
		SELECT 1 FROM jobs INDEXED BY jobs_live_owner
		WHERE owner = ? AND state IN ('leased', 'running') AND workspace_id = ? LIMIT ?)`

	// One owner's at a time, so that the index gives the order.
	listJobs = `SELECT ` + jobColumns + `, ` + payloadColumns + `
		FROM jobs j INDEXED BY jobs_list JOIN job_payloads p ON p.job_id = j.id
		WHERE ` + listed
	// A batch is small, and its own index finds it.
	listBatch = `SELECT ` + jobColumns + `, ` + payloadColumns + `
		FROM job_payloads p INDEXED BY job_payloads_batch CROSS JOIN jobs j ON j.id = p.job_id
		WHERE p.batch_id = :batch AND p.batch_id <> '' AND ` + listed
	listed = `j.owner = :owner AND j.id < :before
			AND (:states = '[]' OR j.state IN (SELECT value FROM json_each(:states)))
			AND (:runner = '' OR j.runner_id = :runner OR j.lease_runner_id = :runner
				OR EXISTS (SELECT 1 FROM attempts a WHERE a.job_id = j.id AND a.runner_id = :runner))
			AND (:workspace = '' OR j.workspace_id = :workspace)
			AND (:since IS NULL OR j.created_at >= :since)
			AND (:until IS NULL OR j.created_at < :until)
		ORDER BY j.id DESC LIMIT :limit`
)
