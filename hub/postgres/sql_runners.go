package postgres

const (
	runnerColumns = `r.id, r.owner, r.label, r.labels, r.token_digest, r.hostname, r.paired_by, r.paired_at, r.revoked_at, r.policy,
		coalesce(s.os, ''), coalesce(s.arch, ''), coalesce(s.version, ''), coalesce(s.protocol, 0),
		coalesce(s.capabilities, '{}'), coalesce(s.slots, 0), coalesce(s.free_slots, 0), coalesce(s.draining, false),
		coalesce(s.status_text, ''), coalesce(s.status_level, ''), s.seen_at, s.left_at`

	selectRunners = `SELECT ` + runnerColumns + ` FROM runners r LEFT JOIN runner_presence s ON s.runner_id = r.id `

	selectRunner         = selectRunners + `WHERE r.id = $1`
	selectRunnersByID    = selectRunners + `WHERE r.id = ANY($1::text[])`
	selectRunnersByToken = selectRunners + `WHERE r.token_digest = ANY($1::bytea[])`

	// listRunners includes revoked ones when $2 says so.
	listRunners = selectRunners + `WHERE r.owner = $1 AND ($2 OR r.revoked_at IS NULL) AND r.id > $3 ORDER BY r.id LIMIT $4`

	selectRunnersByLabel = selectRunners + `
		WHERE r.owner = ANY($1::text[]) AND r.label = $2 AND r.revoked_at IS NULL ORDER BY r.id`

	revokeRunner = `
		WITH done AS (UPDATE runners SET revoked_at = $13 WHERE id = $12 AND revoked_at IS NULL RETURNING 1)` + insertEvent

	savePolicy = `
		WITH done AS (UPDATE runners SET policy = $13 WHERE id = $12 AND policy <> $13 RETURNING 1)` + insertEvent

	insertRunner = `
		INSERT INTO runners (id, owner, label, labels, token_digest, hostname, paired_by, paired_at)
		SELECT $27::text, $28::text, $29::text, $30::text[], $31::bytea, $32::text, $33::text, $34::timestamptz FROM done`

	// insertPresence stores what a machine told when it was paired, before its first poll.
	insertPresence = `
		INSERT INTO runner_presence (` + presenceColumns + `)
		SELECT $27, $35::text, $36::text, $37::text, $38::int, $39::text[], $40::int, $41::int, $42::bool,
			$43::text, $44::text, $45::timestamptz, $46::timestamptz FROM done`

	presenceColumns = `runner_id, os, arch, version, protocol, capabilities, slots, free_slots, draining,
		status_text, status_level, seen_at, left_at`

	// savePresence takes an array of objects. What another hub has heard later stays. Rows are locked in the
	// order of their keys, so that two hubs which save the same runners do not wait for each other.
	savePresence = `
		INSERT INTO runner_presence AS s (` + presenceColumns + `)
		SELECT n.id, n.os, n.arch, n.version, n.protocol, n.capabilities, n.slots, n.free_slots,
			n.draining, n.status_text, n.status_level, n.seen_at, n.left_at
		FROM jsonb_to_recordset($1) AS n (id text, os text, arch text, version text, protocol int, capabilities text[],
			slots int, free_slots int, draining bool, status_text text, status_level text, seen_at timestamptz,
			left_at timestamptz)
		WHERE EXISTS (SELECT FROM runners r WHERE r.id = n.id)
		ORDER BY n.id
		ON CONFLICT (runner_id) DO UPDATE SET os = excluded.os, arch = excluded.arch, version = excluded.version,
			protocol = excluded.protocol, capabilities = excluded.capabilities, slots = excluded.slots,
			free_slots = excluded.free_slots, draining = excluded.draining, status_text = excluded.status_text,
			status_level = excluded.status_level, seen_at = excluded.seen_at, left_at = excluded.left_at
		WHERE s.seen_at IS NULL OR excluded.seen_at IS NULL OR s.seen_at <= excluded.seen_at`
)
