package postgres

const (
	attemptColumns = `a.job_id, a.number, a.runner_id, a.epoch, a.state, a.lease_digest, a.log_digest,
		a.leased_at, a.started_at, a.ended_at,
		a.failure_class, a.failure_message, a.failure_hint, a.failure_container, a.report_digest, a.log_size`

	selectAttempts = `SELECT ` + attemptColumns + ` FROM attempts a WHERE a.job_id = $1 ORDER BY a.number`

	selectAttempt = `
	SELECT ` + attemptColumns + `, r.result
	FROM attempts a LEFT JOIN results r ON r.job_id = a.job_id AND r.number = a.number
	WHERE a.job_id = $1 AND a.number = $2`

	// log_digest IS NOT NULL is what the index is for, and an equality says it.
	selectAttemptByLog = `SELECT ` + attemptColumns + ` FROM attempts a WHERE a.log_digest = $1`

	// appendLog grows the log if it ends where the chunk begins. It answers whether it did, and whether
	// there is such an attempt.
	appendLog = `
	WITH done AS (
		UPDATE attempts SET log_size = log_size + $4
		WHERE job_id = $1 AND number = $2 AND log_size = $3 RETURNING 1
	), chunk AS (
		INSERT INTO log_chunks (job_id, attempt, start_offset, size, digest, bucket_key)
		SELECT $1, $2, $3, $4, $5::bytea, $6::text FROM done
	)
	SELECT EXISTS (SELECT FROM done), EXISTS (SELECT FROM attempts WHERE job_id = $1 AND number = $2)`

	chunkColumns = `start_offset, size, digest, bucket_key`

	// selectChunks starts at the last chunk that starts at or before the offset: chunks do not overlap, so that
	// no earlier one reaches it.
	selectChunks = `
	SELECT ` + chunkColumns + ` FROM log_chunks
	WHERE job_id = $1 AND attempt = $2 AND start_offset + size > $3 AND start_offset >= coalesce((
		SELECT max(start_offset) FROM log_chunks WHERE job_id = $1 AND attempt = $2 AND start_offset <= $3), 0)
	ORDER BY start_offset LIMIT $4`

	selectChunksBefore = `
	SELECT ` + chunkColumns + ` FROM log_chunks
	WHERE job_id = $1 AND attempt = $2 AND start_offset < $3 ORDER BY start_offset DESC LIMIT $4`

	deleteChunks = `DELETE FROM log_chunks WHERE job_id = $1 AND attempt = $2 AND start_offset = ANY($3::bigint[])`
)
