package postgres

const (
	uploadColumns = `id, kind, owner, created_by, token_digest, size, digest, received, state, blob_id, created_at, expires_at,
		job_id, attempt, name, path, executable`

	// lockAttempt keeps an attempt from ending, and other calls from counting what it has, until the batch is committed.
	lockAttempt = `SELECT FROM attempts WHERE job_id = $1 AND number = $2 FOR NO KEY UPDATE`

	// usedByAttempt is what an attempt has and has announced, but for one path: that one is about to be replaced.
	usedByAttempt = `
	used AS (
		SELECT count(*) AS n, coalesce(sum(size), 0)::bigint AS bytes FROM (
			SELECT size FROM artifacts WHERE job_id = $1 AND attempt = $2 AND path <> $3
			UNION ALL
			SELECT size FROM uploads WHERE job_id = $1 AND attempt = $2 AND state = 'open' AND job_id <> '' AND path <> $3) s
	), try AS (
		SELECT coalesce((SELECT state FROM attempts WHERE job_id = $1 AND number = $2), '') AS state
	), room AS (
		SELECT FROM used, try
		WHERE state IN ('leased', 'running') AND ($4 = 0 OR n < $4) AND ($5::bigint = 0 OR bytes + $6::bigint <= $5)
	)`

	createArtifactUpload = `
	WITH ` + usedByAttempt + `, done AS (
		INSERT INTO uploads (` + uploadColumns + `)
		SELECT $7, $8, $9, $10, $11, $6, $12::bytea, $13, $14, $15, $16, $17, $1, $2, $18, $3, $19 FROM room RETURNING 1
	)
	SELECT EXISTS (SELECT FROM done), state, n, bytes FROM used, try`

	createUpload = `
	WITH used AS (
		SELECT count(*) AS n, coalesce(sum(size), 0)::bigint AS bytes FROM uploads WHERE owner = $3 AND state = 'open' AND kind = $2
	), done AS (
		INSERT INTO uploads (` + uploadColumns + `)
		SELECT $1, $2, $3, $4, $5, $6, $7::bytea, $8, $9, $10, $11, $12, '', 0, '', '', false FROM used
		WHERE ($13 = 0 OR n < $13) AND ($14::bigint = 0 OR bytes + $6 <= $14) RETURNING 1
	)
	SELECT EXISTS (SELECT FROM done), '', n, bytes FROM used`

	selectUploadByToken = `SELECT ` + uploadColumns + ` FROM uploads WHERE token_digest = $1`

	selectOpenUpload = `
	SELECT ` + uploadColumns + ` FROM uploads
	WHERE owner = $1 AND digest = $2 AND state = 'open' AND kind = $3 AND created_by = $4 AND size = $5
		AND job_id = $6 AND attempt = $7 AND name = $8 AND path = $9 AND executable = $10
	ORDER BY id DESC LIMIT 1`

	growUpload = `
	WITH done AS (
		UPDATE uploads SET received = received + $3 WHERE id = $1 AND state = 'open' AND received = $2 RETURNING 1
	)
	INSERT INTO upload_parts (upload_id, start_offset, size, bucket_key) SELECT $1, $2, $3, $4::text FROM done`

	selectParts = `
	SELECT start_offset, size, bucket_key FROM upload_parts
	WHERE upload_id = $1 AND start_offset >= $2 ORDER BY start_offset LIMIT $3`

	// lockUpload keeps an upload, and the attempt of an artifact's, as they are until the batch is committed.
	lockUpload        = `SELECT FROM uploads WHERE id = $1 FOR NO KEY UPDATE`
	lockUploadAttempt = `
	SELECT FROM attempts a JOIN uploads u ON u.job_id = a.job_id AND u.attempt = a.number
	WHERE u.id = $1 AND u.job_id <> '' FOR NO KEY UPDATE OF a`

	blobColumns = `id, owner, digest, size, bucket_key, created_at, keep_until`

	// finishUpload answers whether the upload was open, the state of its attempt, and the blob that there is now.
	finishUpload = `
	WITH up AS (
		SELECT u.*, coalesce(a.state, '') AS attempt_state
		FROM uploads u LEFT JOIN attempts a ON a.job_id = u.job_id AND a.number = u.attempt
		WHERE u.id = $1 AND u.state = 'open'
	), may AS (
		SELECT * FROM up WHERE kind <> 'artifact' OR attempt_state IN ('leased', 'running')
	), kept AS (
		INSERT INTO blobs (` + blobColumns + `) SELECT $2, $3, $4::bytea, $5, $6, $7::timestamptz, $8::timestamptz FROM may
		ON CONFLICT (owner, digest) WHERE NOT condemned
			DO UPDATE SET keep_until = greatest(blobs.keep_until, excluded.keep_until)
		RETURNING ` + blobColumns + `
	), ended AS (
		UPDATE uploads u SET state = 'done', blob_id = k.id FROM kept k WHERE u.id = $1
	), file AS (
		INSERT INTO artifacts (job_id, attempt, path, name, executable, size, digest, blob_id, created_at, expires_at)
		SELECT m.job_id, m.attempt, m.path, m.name, m.executable, k.size, k.digest, k.id, $7, $8
		FROM may m, kept k WHERE m.kind = 'artifact' ` + replaceArtifact + `
	)
	SELECT up.kind, up.attempt_state, k.* FROM up LEFT JOIN kept k ON true`

	replaceArtifact = `
		ON CONFLICT (job_id, attempt, path) DO UPDATE SET name = excluded.name, executable = excluded.executable,
			size = excluded.size, digest = excluded.digest, blob_id = excluded.blob_id,
			created_at = excluded.created_at, expires_at = excluded.expires_at`

	dropUpload = `UPDATE uploads SET state = 'dropped' WHERE id = $1 AND state = 'open'`

	selectOldUploads = `SELECT ` + uploadColumns + ` FROM uploads WHERE expires_at < $1 ORDER BY expires_at LIMIT $2`

	deleteUpload = `DELETE FROM uploads WHERE id = $1`

	selectBlob = `SELECT ` + blobColumns + ` FROM blobs WHERE owner = $1 AND digest = $2 AND NOT condemned`

	keepBlob = `UPDATE blobs SET keep_until = greatest(keep_until, $2) WHERE id = $1 AND NOT condemned`

	// condemnBlobs asks for the time again: a row that was put off while it was waited for is another one.
	condemnBlobs = `
	WITH old AS (SELECT id FROM blobs WHERE keep_until < $1 ORDER BY keep_until LIMIT $2)
	UPDATE blobs b SET condemned = true FROM old WHERE b.id = old.id AND b.keep_until < $1
	RETURNING b.id, b.owner, b.digest, b.size, b.bucket_key, b.created_at, b.keep_until`

	condemnBlob = `UPDATE blobs SET condemned = true WHERE id = $1`

	deleteBlob = `DELETE FROM blobs WHERE id = $1 AND condemned`

	// putArtifact answers whether there was room and whether there was a blob.
	putArtifact = `
	WITH ` + usedByAttempt + `, kept AS (
		UPDATE blobs SET keep_until = greatest(keep_until, $11) FROM room WHERE id = $9 AND NOT condemned RETURNING id
	), done AS (
		INSERT INTO artifacts (job_id, attempt, path, name, executable, size, digest, blob_id, created_at, expires_at)
		SELECT $1, $2, $3, $7, $12, $6, $8::bytea, k.id, $10::timestamptz, $11::timestamptz FROM kept k ` + replaceArtifact + ` RETURNING 1
	)
	SELECT EXISTS (SELECT FROM done), EXISTS (SELECT FROM room), state, n, bytes FROM used, try`

	// An artifact's blob is kept for as long as the artifact at least.
	artifactsFrom = `
	SELECT a.job_id, a.attempt, a.path, a.name, a.executable, a.size, a.digest, a.blob_id, b.bucket_key, a.created_at, a.expires_at
	FROM artifacts a JOIN blobs b ON b.id = a.blob_id WHERE a.job_id = $1 AND a.attempt = $2 AND `
	selectArtifacts = artifactsFrom + `a.path > $3 ORDER BY a.path LIMIT $4`
	selectArtifact  = artifactsFrom + `a.path = $3`

	deleteArtifacts = `
	DELETE FROM artifacts WHERE (job_id, attempt, path) IN (
		SELECT job_id, attempt, path FROM artifacts WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)`
)
