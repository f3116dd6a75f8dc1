package postgres

const (
	// deleteKeys looks at a page of keys in their order. A key whose job has not ended long enough ago stays.
	deleteKeys = `
	WITH page AS MATERIALIZED (
		SELECT scope, key, job_id, created_at FROM idempotency_keys
		WHERE (scope, key) > ($2::text, $3::text) ORDER BY scope, key LIMIT $4
	), gone AS (
		DELETE FROM idempotency_keys k USING page p
		WHERE k.scope = p.scope AND k.key = p.key AND k.job_id = p.job_id AND p.created_at < $1
			AND NOT EXISTS (SELECT FROM jobs j WHERE j.id = p.job_id AND (j.ended_at IS NULL OR j.ended_at >= $1))
	)
	SELECT scope, key FROM page ORDER BY scope, key OFFSET $4 - 1`

	// selectEnded walks the primary key, since ids sort by the time that they were made at and a job ends
	// after that: an index by the time of the end would cost every settle.
	selectEnded = `
	SELECT id, ended_at IS NOT NULL AND ended_at < $4 FROM jobs WHERE id > $1 AND id < $2 ORDER BY id LIMIT $3`

	// deleteJobs finds the jobs first. What is kept of them is looked up by each one's id.
	deleteJobs = `
	WITH done AS MATERIALIZED (
		SELECT id FROM jobs WHERE id = ANY($2::text[]) AND ended_at < $1 ORDER BY id FOR UPDATE
	), payloads AS (DELETE FROM job_payloads p USING done d WHERE p.job_id = d.id
	), attempts AS (DELETE FROM attempts a USING done d WHERE a.job_id = d.id
	), results AS (DELETE FROM results r USING done d WHERE r.job_id = d.id
	), chunks AS (DELETE FROM log_chunks c USING done d WHERE c.job_id = d.id
	), tickets AS (DELETE FROM source_tickets t USING done d WHERE t.job_id = d.id
	), files AS (DELETE FROM artifacts a USING done d WHERE a.job_id = d.id
	), events AS (DELETE FROM events e USING done d WHERE e.job_id = d.id AND e.job_id <> ''
	)
	DELETE FROM jobs j USING done d WHERE j.id = d.id`
)
