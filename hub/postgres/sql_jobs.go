package postgres

const (
	jobColumns = `j.id, j.workspace_id, j.owner, j.runner_id, j.state, j.revision, j.priority, j.rank,
		j.attempt, j.epoch, j.losses, j.max_attempts,
		j.lease_runner_id, j.lease_digest, j.lease_request_id, j.lease_expires_at, j.deadline_at,
		j.phase, j.step, j.progress, j.cancel_requested_at, j.cancel_reason,
		j.failure_class, j.failure_message, j.failure_hint, j.failure_container,
		j.created_at, j.queued_at, j.started_at, j.ended_at, j.concurrency_group, j.held`

	payloadColumns = `p.job_id, p.name, p.requires, p.labels, p.timeout_ns, p.grace_ns, p.retry_on,
		p.submitted_by, p.retry_of, p.cancel_running, p.needs, p.hold_ns, p.allows_exec, p.batch_id`

	selectJobsByID = `SELECT ` + jobColumns + ` FROM jobs j WHERE j.id = ANY($1::text[])`
	selectPayloads = `SELECT ` + payloadColumns + `, p.spec FROM job_payloads p WHERE p.job_id = ANY($1::text[])`
)

// enqueueJobs stores jobs, each unless its queue is full or its key is taken. It answers for each whether it was
// stored, whether there was room, and what its key had stored before. Neither stored nor taken and
// yet room: another transaction took the key at this moment.
var enqueueJobs = `
WITH ops AS MATERIALIZED (` + rowsOf(enqueueFields) + `),
earlier AS MATERIALIZED (
	SELECT o.n, k.job_id, k.fingerprint
	FROM ops o JOIN idempotency_keys k ON k.scope = o.submitted_by AND k.key = o.key WHERE o.key <> ''
), depth AS MATERIALIZED (
	SELECT c.queue_key, (SELECT count(*) FROM (
		SELECT FROM jobs j WHERE j.queue_key = c.queue_key AND j.state = 'queued' LIMIT c.most
	) q) AS jobs
	FROM (SELECT queue_key, max(max_queued) AS most FROM ops WHERE max_queued > 0 GROUP BY queue_key) c
), full_up AS MATERIALIZED (
	SELECT o.n FROM (
		SELECT n, queue_key, max_queued, row_number() OVER (PARTITION BY queue_key ORDER BY n) AS turn FROM ops
		WHERE max_queued > 0 AND n NOT IN (SELECT n FROM earlier)
	) o JOIN depth USING (queue_key) WHERE depth.jobs + o.turn > o.max_queued
), key AS (
	INSERT INTO idempotency_keys (scope, key, fingerprint, job_id, created_at)
	SELECT submitted_by, key, fingerprint, id, created_at FROM ops
	WHERE key <> '' AND n NOT IN (SELECT n FROM full_up) ORDER BY submitted_by, key
	ON CONFLICT DO NOTHING RETURNING job_id
), done AS MATERIALIZED (
	SELECT * FROM ops
	WHERE n NOT IN (SELECT n FROM full_up) AND (key = '' OR id IN (SELECT job_id FROM key))
), job AS (
	INSERT INTO jobs (id, workspace_id, owner, runner_id, queue_key, state, revision, priority, rank, created_at, queued_at,
		max_attempts, concurrency_group)
	SELECT id, workspace_id, owner, runner_id, queue_key, state, revision, priority, rank, created_at, queued_at,
		max_attempts, concurrency_group
	FROM done
), payload AS (
	INSERT INTO job_payloads (job_id, name, spec, requires, labels, timeout_ns, grace_ns, retry_on, submitted_by, retry_of,
		cancel_running, needs, hold_ns, allows_exec, batch_id)
	SELECT id, name, spec, requires::text[], labels::text[], timeout_ns, grace_ns, retry_on::text[], submitted_by, retry_of,
		cancel_running, needs, hold_ns, allows_exec, batch_id
	FROM done
), event AS (` + insertEvents + `)
SELECT o.n::int, o.n IN (SELECT n FROM done), o.n NOT IN (SELECT n FROM full_up), e.job_id, e.fingerprint
FROM ops o LEFT JOIN earlier e USING (n)`
