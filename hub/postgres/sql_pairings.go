package postgres

const (
	pairingColumns = `id, state, code_digest, token_digest, public_key, owner, workspace, hostname, os, arch, version,
		address, label, labels, approved_by, runner_id, created_at, expires_at`

	createPairing = `
	WITH done AS (
		INSERT INTO pairings (` + pairingColumns + `)
		VALUES ($12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29) RETURNING 1
	)` + insertEvent

	selectPairing        = `SELECT ` + pairingColumns + ` FROM pairings WHERE id = $1`
	selectPairingByCode  = `SELECT ` + pairingColumns + ` FROM pairings WHERE code_digest = $1`
	selectPairingByToken = `SELECT ` + pairingColumns + ` FROM pairings WHERE token_digest = $1`

	// What a request was opened with (code, token, times) stays.
	updatePairing = `
		UPDATE pairings SET state = $13, public_key = $14, owner = $15, workspace = $16, hostname = $17, os = $18,
			arch = $19, version = $20, address = $21, label = $22, labels = $23, approved_by = $24, runner_id = $25
		WHERE id = $12 AND state = $26 RETURNING 1`

	decidePairing = `WITH done AS (` + updatePairing + `)` + insertEvent

	redeemPairing = `WITH done AS (` + updatePairing + `), runner AS (` + insertRunner + `),
	presence AS (` + insertPresence + `)` + insertEvent

	deletePairings = `DELETE FROM pairings WHERE expires_at < $1`
)
