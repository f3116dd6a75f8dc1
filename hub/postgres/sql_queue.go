package postgres

const (
	// selectHeads is the first page of several queues.
	selectHeads = `
	SELECT ` + jobColumns + `, ` + payloadColumns + `
	FROM unnest($1::text[]) AS q (key)
	CROSS JOIN LATERAL (
		SELECT * FROM jobs WHERE queue_key = q.key AND state = 'queued' ORDER BY rank, id LIMIT $2
	) j JOIN job_payloads p ON p.job_id = j.id
	ORDER BY j.queue_key, j.rank, j.id`

	// selectQueued pages a queue by the claim index. The planner keeps the order of the inner query, since
	// the join looks up one payload at a time.
	selectQueued = `
	SELECT ` + jobColumns + `, ` + payloadColumns + `
	FROM (
		SELECT * FROM jobs WHERE queue_key = $1 AND state = 'queued' AND (rank, id) > ($2::int, $3::text)
		ORDER BY rank, id LIMIT $4
	) j JOIN job_payloads p ON p.job_id = j.id
	ORDER BY j.rank, j.id`

	// selectQueuedOf reads over the queue's other jobs in the claim index, of which there are at most the cap on a queue.
	selectQueuedOf = `
	SELECT ` + jobColumns + `, ` + payloadColumns + `
	FROM (
		SELECT * FROM jobs WHERE queue_key = $1 AND state = 'queued' AND (rank, id) > ($2::int, $3::text) AND workspace_id = $5
		ORDER BY rank, id LIMIT $4
	) j JOIN job_payloads p ON p.job_id = j.id
	ORDER BY j.rank, j.id`

	selectShares = `
	SELECT q.workspace_id, q.rank, q.id, (
		SELECT count(*) FROM jobs l
		WHERE l.owner = $2 AND l.workspace_id = q.workspace_id AND l.state IN ('leased', 'running')) AS live
	FROM (
		SELECT DISTINCT ON (workspace_id) workspace_id, rank, id FROM jobs WHERE queue_key = $1 AND state = 'queued'
		ORDER BY workspace_id, rank, id
	) q ORDER BY live, q.rank, q.id`

	selectGroupHolders = `
	SELECT g.workspace_id, g.name, j.id
	FROM unnest($1::text[], $2::text[]) AS g (workspace_id, name)
	CROSS JOIN LATERAL (
		SELECT id FROM jobs WHERE workspace_id = g.workspace_id AND concurrency_group = g.name
			AND concurrency_group <> '' AND state IN ('leased', 'running') LIMIT 1
	) j`

	selectGroup = `
	SELECT ` + jobColumns + `, ` + payloadColumns + `
	FROM (
		SELECT * FROM jobs WHERE workspace_id = $1 AND concurrency_group = $2 AND concurrency_group <> '' AND state = 'queued'
		ORDER BY rank, id LIMIT $3
	) j JOIN job_payloads p ON p.job_id = j.id
	ORDER BY j.rank, j.id`

	countAhead = `
	SELECT count(*) FROM jobs WHERE queue_key = $1 AND state = 'queued' AND (rank, id) < ($2::int, $3::text)`

	// selectQueueKeys hops from queue to queue through the claim index, and so costs by queues and not by
	// jobs: the first job of most queues is old enough to answer.
	selectQueueKeys = `
	WITH RECURSIVE hop AS (
		(SELECT queue_key FROM jobs WHERE state = 'queued' ORDER BY queue_key LIMIT 1)
		UNION ALL
		SELECT (SELECT j.queue_key FROM jobs j WHERE j.state = 'queued' AND j.queue_key > h.queue_key
			ORDER BY j.queue_key LIMIT 1)
		FROM hop h WHERE h.queue_key IS NOT NULL
	)
	SELECT h.queue_key FROM hop h WHERE h.queue_key IS NOT NULL AND (
		SELECT true FROM jobs j WHERE j.queue_key = h.queue_key AND j.state = 'queued' AND j.queued_at < $1 LIMIT 1)
	ORDER BY h.queue_key`

	selectLive = `
	SELECT ` + jobColumns + `, ` + payloadColumns + `, r.revoked_at IS NOT NULL
	FROM (
		SELECT * FROM jobs WHERE state IN ('leased', 'running') AND id > $1 ORDER BY id LIMIT $2
	) j JOIN job_payloads p ON p.job_id = j.id LEFT JOIN runners r ON r.id = j.lease_runner_id
	ORDER BY j.id`

	// selectHeld lists what runners hold, looked up for one after the other: otherwise the planner would rather
	// read everything that is live, which jobs_live has in the order that is asked for. OFFSET 0 keeps it from joining.
	selectHeld = `
	SELECT ` + jobColumns + `
	FROM (SELECT DISTINCT unnest($1::text[]) AS id) r
	CROSS JOIN LATERAL (
		SELECT * FROM jobs WHERE lease_runner_id = r.id AND state IN ('leased', 'running') OFFSET 0
	) j ORDER BY j.id`

	countLive = `
	SELECT lease_runner_id, count(*) FROM jobs
	WHERE owner = $1 AND state IN ('leased', 'running') GROUP BY lease_runner_id`
)

// selectBatch is selectJobs for a batch, whose own index finds it: the lateral join with its OFFSET keeps the planner
// from looking through all jobs of the owners instead.
const selectBatch = `
	WITH b AS MATERIALIZED (SELECT job_id FROM job_payloads WHERE batch_id = $3 AND batch_id <> '')
	SELECT ` + jobColumns + `, ` + payloadColumns + `
	FROM (
		SELECT o.* FROM b CROSS JOIN LATERAL (
			SELECT j.* FROM jobs j WHERE j.id = b.job_id AND j.owner = ANY($1::text[])%s OFFSET 0
		) o ORDER BY o.id DESC LIMIT $2
	) j JOIN job_payloads p ON p.job_id = j.id
	ORDER BY j.id DESC`

// selectJobs takes more conditions at its verb.
const selectJobs = `
	SELECT ` + jobColumns + `, ` + payloadColumns + `
	FROM (
		SELECT o.* FROM (SELECT DISTINCT unnest($1::text[]) AS owner) w
		CROSS JOIN LATERAL (
			SELECT j.* FROM jobs j WHERE j.owner = w.owner%s ORDER BY j.id DESC LIMIT $2
		) o ORDER BY o.id DESC LIMIT $2
	) j JOIN job_payloads p ON p.job_id = j.id
	ORDER BY j.id DESC`
