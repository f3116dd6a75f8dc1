package sqlite

const (
	uploadColumns = `id, kind, owner, created_by, token_digest, size, digest, received, state, blob_id, created_at, expires_at,
		job_id, attempt, name, path, executable`
	insertUpload  = `INSERT INTO uploads (` + uploadColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	uploadByID    = `SELECT ` + uploadColumns + ` FROM uploads WHERE id = ?`
	uploadByToken = `SELECT ` + uploadColumns + ` FROM uploads WHERE token_digest = ?`
	openUpload    = `SELECT ` + uploadColumns + ` FROM uploads
		WHERE owner = ? AND digest = ? AND state = 'open' AND kind = ? AND created_by = ? AND size = ?
			AND job_id = ? AND attempt = ? AND name = ? AND path = ? AND executable = ?
		ORDER BY id DESC LIMIT 1`
	growUpload   = `UPDATE uploads SET received = received + ? WHERE id = ? AND state = 'open' AND received = ?`
	insertPart   = `INSERT INTO upload_parts (upload_id, start_offset, size, bucket_key) VALUES (?, ?, ?, ?)`
	listParts    = `SELECT start_offset, size, bucket_key FROM upload_parts WHERE upload_id = ? AND start_offset >= ? ORDER BY start_offset LIMIT ?`
	endUpload    = `UPDATE uploads SET state = ?, blob_id = ? WHERE id = ? AND state = 'open'`
	oldUploads   = `SELECT ` + uploadColumns + ` FROM uploads WHERE expires_at < ? ORDER BY expires_at LIMIT ?`
	deleteUpload = `DELETE FROM uploads WHERE id = ?` // its parts go with it

	// What an attempt has and has announced, but for one path: that one is about to be replaced.
	sumArtifacts = `SELECT count(*), coalesce(sum(size), 0) FROM (
			SELECT size FROM artifacts WHERE job_id = :job AND attempt = :attempt AND path <> :path
			UNION ALL
			SELECT size FROM uploads WHERE job_id = :job AND attempt = :attempt AND state = 'open' AND job_id <> '' AND path <> :path)`
	sumUploads     = `SELECT count(*), coalesce(sum(size), 0) FROM uploads WHERE owner = ? AND state = 'open' AND kind = ?`
	stateOfAttempt = `SELECT state FROM attempts WHERE job_id = ? AND number = ?`
	blobColumns    = `id, owner, digest, size, bucket_key, created_at, keep_until`
	insertBlob     = `INSERT INTO blobs (` + blobColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?)`
	findBlob       = `SELECT ` + blobColumns + ` FROM blobs WHERE owner = ? AND digest = ? AND NOT condemned`
	keepBlob       = `UPDATE blobs SET keep_until = max(keep_until, ?) WHERE id = ? AND NOT condemned`
	condemnBlobs   = `UPDATE blobs SET condemned = 1 WHERE id IN (
			SELECT id FROM blobs WHERE keep_until < ? ORDER BY keep_until LIMIT ?) AND keep_until < ?`
	oldBlobs    = `SELECT ` + blobColumns + ` FROM blobs WHERE condemned AND keep_until < ? ORDER BY keep_until LIMIT ?`
	condemnBlob = `UPDATE blobs SET condemned = 1 WHERE id = ?`
	deleteBlob  = `DELETE FROM blobs WHERE id = ? AND condemned`

	putArtifact = `INSERT INTO artifacts (job_id, attempt, path, name, executable, size, digest, blob_id, created_at, expires_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (job_id, attempt, path) DO UPDATE SET name = excluded.name, executable = excluded.executable,
			size = excluded.size, digest = excluded.digest, blob_id = excluded.blob_id,
			created_at = excluded.created_at, expires_at = excluded.expires_at`
	// An artifact's blob is kept for as long as the artifact at least.
	selectArtifacts = `SELECT a.job_id, a.attempt, a.path, a.name, a.executable, a.size, a.digest, a.blob_id, b.bucket_key, a.created_at, a.expires_at
		FROM artifacts a JOIN blobs b ON b.id = a.blob_id`
	listArtifacts   = selectArtifacts + ` WHERE a.job_id = ? AND a.attempt = ? AND a.path > ? ORDER BY a.path LIMIT ?`
	artifactByPath  = selectArtifacts + ` WHERE a.job_id = ? AND a.attempt = ? AND a.path = ?`
	deleteArtifacts = `DELETE FROM artifacts WHERE (job_id, attempt, path) IN (
			SELECT job_id, attempt, path FROM artifacts WHERE expires_at < ? ORDER BY expires_at LIMIT ?)`
)
