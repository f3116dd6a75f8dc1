package bench

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/runnerhub/runnerhub/hub"
)

// claimers is how many runners lease at once where leases are what is measured.
const claimers = 16

// crowd is a million finished jobs and a hundred thousand queued ones, in a thousand queues. Their owners are not the one
// whose jobs are leased; a hundred of the queued ones are that one's, and at the head of the queue.
const crowd = `
	SET session_replication_role = replica; -- without foreign keys, which are true by construction
	INSERT INTO jobs (id, workspace_id, owner, queue_key, state, revision, created_at, queued_at, ended_at)
	SELECT 'job_0' || lpad(n::text, 9, '0'), 'wsp_1', 'user:usr_' || n % 1000, 'user:usr_' || n % 1000 || '/*', 'succeeded', 5,
		now() - interval '1 day', now() - interval '1 day', now() - interval '1 day'
	FROM generate_series(1, 1000000) n;
	INSERT INTO jobs (id, workspace_id, owner, queue_key, state, revision, max_attempts, created_at, queued_at)
	SELECT 'job_00' || lpad(n::text, 8, '0') || 'q', 'wsp_1', o, o || '/*', 'queued', 1, 3, now() - interval '1 hour', now() - interval '1 hour'
	FROM generate_series(1, 100000) n, LATERAL (SELECT CASE WHEN n % 1000 = 7 THEN '%OWNER%' ELSE 'user:usr_' || n % 1000 END AS o) AS owners;
	INSERT INTO job_payloads (job_id, spec, timeout_ns) SELECT id, '{"image":"busybox","command":["true"]}', 60000000000 FROM jobs;
	INSERT INTO attempts (job_id, number, runner_id, epoch, state, lease_digest, log_digest, leased_at, ended_at)
	SELECT id, 1, 'rnr-1', 1, 'succeeded', '\x00', id::bytea, now(), now() FROM jobs WHERE state = 'succeeded'`

func connect(b *testing.B, database string) *pgx.Conn {
	b.Helper()
	conn, err := pgx.Connect(b.Context(), database)
	must(b, err)
	b.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// run runs SQL on a connection of its own.
func run(b *testing.B, database string, statements ...string) {
	b.Helper()
	conn := connect(b, database)
	for _, sql := range statements {
		_, err := conn.Exec(b.Context(), sql, pgx.QueryExecModeSimpleProtocol)
		must(b, err)
	}
}

func BenchmarkLeaseWithAMillionRows(b *testing.B) {
	full, empty := newDatabase(b), newDatabase(b)
	crowded, alone := newCases(b, full, claimers), newCases(b, empty, claimers)
	owner := hub.UserOwner(crowded.person.User.ID)
	run(b, full, strings.ReplaceAll(crowd, "%OWNER%", string(owner)), `VACUUM ANALYZE`)
	atLeast(b, 7, "lease with 1,000,000 finished and 100,000 queued rows against an empty table",
		compare(b, crowded.leaseSide(b.Context(), "crowded"), alone.leaseSide(b.Context(), "empty")), 0.9)
}

func BenchmarkLeaseUnderAnOldSnapshot(b *testing.B) {
	held, free := newDatabase(b), newDatabase(b)
	under, without := newCases(b, held, claimers), newCases(b, free, claimers)
	conn := connect(b, held)
	tx, err := conn.BeginTx(b.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	must(b, err)
	defer tx.Rollback(context.Background())
	_, err = tx.Exec(b.Context(), `SELECT count(*) FROM jobs`)
	must(b, err)
	for _, c := range []*cases{under, without} { // what dies from now on stays in the one and goes from the other
		for range 5 {
			_, err := c.leases(b.Context(), 400)
			must(b, err)
		}
	}
	atLeast(b, 8, "lease while a transaction holds an old snapshot against none",
		compare(b, under.leaseSide(b.Context(), "old snapshot"), without.leaseSide(b.Context(), "none")), 0.9)
}

// still keeps autovacuum, and with it its ANALYZE, away from a database's tables.
const still = `DO $$ DECLARE t text; BEGIN
	FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
		EXECUTE format('ALTER TABLE %I SET (autovacuum_enabled = off)', t);
	END LOOP; END $$`

func BenchmarkFreshDatabase(b *testing.B) {
	const callers = 64
	sides := map[string]side{}
	for _, name := range []string{"never analysed", "analysed"} {
		database := newDatabase(b)
		s := openStore(b, database)
		run(b, database, still)
		if name == "analysed" {
			must(b, together(callers, 2000, func(int, int) error { return storeJob(b.Context(), s, spec()) }))
			run(b, database, `ANALYZE`)
			s = openStore(b, database) // whose connections plan with what is known now
		}
		sides[name] = side{name, func() (float64, error) {
			return perSecond(b.Context(), callers, window, func(ctx context.Context, _ int) error { return storeJob(ctx, s, spec()) })
		}}
	}
	atLeast(b, 9, "a fresh, never analysed database against an analysed one", compare(b, sides["never analysed"], sides["analysed"]), 0.9)
}
