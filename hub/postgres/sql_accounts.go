package postgres

// The parameters 1 to 11 are those of the event.
const (
	userColumns = `u.id, u.login, u.admin, u.created_at`
	keyColumns  = `k.id, k.user_id, k.name, k.digest, k.created_at, k.expires_at, k.revoked_at, k.read_only, k.toolsets`

	userValues      = `$12::text, $13::text, $14::bool, $15::timestamptz`
	workspaceValues = `$16::text, $17::text, $18::timestamptz`
	keyValues       = `$19::text, $20::text, $21::text, $22::bytea, $23::timestamptz, $24::timestamptz, $25::timestamptz, $26::bool, $27::text`

	insertUser      = `INSERT INTO users (id, login, admin, created_at) `
	insertWorkspace = `INSERT INTO workspaces (id, slug, created_at) `
	insertKey       = `INSERT INTO api_keys (id, user_id, name, digest, created_at, expires_at, revoked_at, read_only, toolsets) `

	// bootstrap runs behind a lock, so that "done" has a row for the first hub alone.
	bootstrap = `
	WITH done AS MATERIALIZED (SELECT WHERE NOT EXISTS (SELECT FROM users)),
		u AS (` + insertUser + `SELECT ` + userValues + ` FROM done),
		w AS (` + insertWorkspace + `SELECT ` + workspaceValues + ` FROM done),
		m AS (INSERT INTO members (workspace_id, user_id, role) SELECT $16, $12, 'admin' FROM done),
		k AS (` + insertKey + `SELECT ` + keyValues + ` FROM done),
		event AS (` + insertEvent + `)
	SELECT EXISTS (SELECT FROM done)`

	createUser = `
	WITH done AS (` + insertUser + `VALUES ($12, $13, $14, $15) RETURNING 1)` + insertEvent

	createWorkspace = `
	WITH done AS (` + insertWorkspace + `VALUES ($12, $13, $14) RETURNING 1)` + insertEvent

	createKey = `
	WITH done AS (` + insertKey + `VALUES ($12, $13, $14, $15, $16, $17, $18, $19, $20) RETURNING 1)` + insertEvent

	// putMember keeps seq, which says which membership is older.
	putMember = `
	WITH done AS (
		INSERT INTO members (workspace_id, user_id, role) VALUES ($12, $13, $14)
		ON CONFLICT (user_id, workspace_id) DO UPDATE SET role = excluded.role RETURNING 1
	)` + insertEvent

	// revokeKey answers whether there is such a key.
	revokeKey = `
	WITH done AS (UPDATE api_keys SET revoked_at = $13 WHERE id = $12 AND revoked_at IS NULL RETURNING 1),
		event AS (` + insertEvent + `)
	SELECT EXISTS (SELECT FROM api_keys WHERE id = $12)`

	selectUsersByKey = `
	SELECT ` + userColumns + `, ` + keyColumns + ` FROM api_keys k JOIN users u ON u.id = k.user_id
	WHERE k.digest = ANY($1::bytea[])`

	selectUser            = `SELECT ` + userColumns + ` FROM users u WHERE u.id = $1`
	selectUserByLogin     = `SELECT ` + userColumns + ` FROM users u WHERE u.login = $1`
	selectWorkspaces      = `SELECT id, slug, created_at FROM workspaces WHERE id = ANY($1::text[])`
	selectWorkspaceBySlug = `SELECT id, slug, created_at FROM workspaces WHERE slug = $1`

	selectMemberships = `
	SELECT w.id, w.slug, w.created_at, m.user_id, m.role
	FROM members m JOIN workspaces w ON w.id = m.workspace_id WHERE m.user_id = ANY($1::text[]) ORDER BY m.seq`
)
