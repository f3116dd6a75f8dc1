package postgres

const (
	eventColumns = `at, actor, on_behalf_of, action, address, owner, workspace_id, job_id, attempt, runner_id, detail`

	// insertEvent is the part of a statement that writes its event, once for each row of "done", from the
	// parameters 1 to 11.
	insertEvent = `
		INSERT INTO events (` + eventColumns + `)
		SELECT $1::timestamptz, $2::text, $3::text, $4::text, $5::text, $6::text,
			$7::text, $8::text, $9::int, $10::text, $11::jsonb
		FROM done`

	selectEvents = `SELECT id, ` + eventColumns + ` FROM events WHERE job_id = $1 AND job_id <> '' ORDER BY id`

	selectClock  = `SELECT clock_timestamp()`
	selectHubID  = `SELECT value FROM meta WHERE key = 'hub_id'`
	selectNotify = `SELECT pg_notify($1, payload) FROM unnest($2::text[]) payload`

	// lockKeys holds everybody else who takes one of the same keys until the transaction has ended, in the same
	// order everywhere, so that nobody waits in a circle. Keys that share a hash wait for each other for nothing.
	// The class keeps kinds of keys apart.
	lockKeys = `SELECT pg_advisory_xact_lock($1, hash) FROM (SELECT DISTINCT hashtext(key) FROM unnest($2::text[]) key ORDER BY 1) k(hash)`
)

// The classes of lockKeys.
const (
	lockQueue     = 1 // enqueueing under a cap, by queue key
	lockOwner     = 2 // leasing under a cap, by owner
	lockBootstrap = 3
	lockExecs     = 4 // requests to reach into a job, by the job
)
