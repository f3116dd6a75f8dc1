package postgres

const (
	jobColumns = `j.id, j.workspace_id, j.owner, j.runner_id, j.state, j.revision, j.priority, j.rank,
		j.attempt, j.epoch, j.losses, j.max_attempts,
		j.lease_runner_id, j.lease_digest, j.lease_request_id, j.lease_expires_at, j.deadline_at,
		j.phase, j.step, j.progress, j.cancel_requested_at, j.cancel_reason,
		j.failure_class, j.failure_message, j.failure_hint, j.failure_container,
		j.created_at, j.queued_at, j.started_at, j.ended_at, j.concurrency_group`

	payloadColumns = `p.job_id, p.name, p.requires, p.labels, p.timeout_ns, p.grace_ns, p.retry_on,
		p.submitted_by, p.retry_of, p.cancel_running`

	selectJob     = `SELECT ` + jobColumns + ` FROM jobs j WHERE j.id = $1`
	selectPayload = `SELECT ` + payloadColumns + `, p.spec FROM job_payloads p WHERE p.job_id = $1`

	// enqueue stores a job unless its queue is full ($32 is the cap, 0 for none) or its key is taken. It
	// answers whether it did, whether there was room, and what the key had stored before. Neither
	// stored nor taken and yet room: another transaction took the key at this moment.
	enqueue = `
	WITH earlier AS (
		SELECT job_id, fingerprint FROM idempotency_keys WHERE $30::text <> '' AND scope = $28 AND key = $30
	), room AS MATERIALIZED (
		SELECT $32::int = 0 OR (SELECT count(*) FROM (
			SELECT FROM jobs WHERE queue_key = $16 AND state = 'queued' LIMIT $32::int
		) q) < $32::int AS ok
	), key AS (
		INSERT INTO idempotency_keys (scope, key, fingerprint, job_id, created_at)
		SELECT $28::text, $30::text, $31::bytea, $12::text, $21::timestamptz FROM room WHERE ok AND $30 <> ''
		ON CONFLICT DO NOTHING RETURNING 1
	), done AS MATERIALIZED (
		SELECT FROM room WHERE ok AND ($30 = '' OR EXISTS (SELECT FROM key))
	), job AS (
		INSERT INTO jobs (id, workspace_id, owner, runner_id, queue_key, state, revision, priority, rank,
			created_at, queued_at, max_attempts, concurrency_group)
		SELECT $12::text, $13::text, $14::text, $15::text, $16::text, $17::text, $18::bigint, $19::int, $20::int,
			$21::timestamptz, $22::timestamptz, $23::int, $36::text FROM done
	), payload AS (
		INSERT INTO job_payloads (job_id, name, requires, labels, timeout_ns, submitted_by, retry_of, spec, grace_ns, retry_on,
			cancel_running)
		SELECT $12, $24::text, $25::text[], $26::text[], $27::bigint, $28::text, $29::text, $33::bytea, $34::bigint, $35::text[],
			$37::boolean
		FROM done
	), event AS (` + insertEvent + `)
	SELECT EXISTS (SELECT FROM done), (SELECT ok FROM room),
		(SELECT job_id FROM earlier), (SELECT fingerprint FROM earlier)`
)
