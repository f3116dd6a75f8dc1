package postgres

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// crowd is how many rows there are: finished jobs of 100 owners, queued ones in 1,000 queues, of which
// the one that is asked for has 100, and 100 live ones. Runners and keys are 2,000 each.
type crowd struct{ finished, queued int }

const crowdQueues = 1000

// fill loads the crowd into empty tables. Tables are not analysed by it, nor afterwards by the server. quick builds
// the indexes afterwards, which makes every prepared statement be planned again.
func (c crowd) fill(t *testing.T, conn *pgx.Conn, quick bool) {
	t.Helper()
	run := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
	}
	tables := []string{"jobs", "job_payloads", "attempts", "results", "events", "idempotency_keys", "runners"}
	for _, table := range tables {
		run("ALTER TABLE " + table + " SET (autovacuum_enabled = off)")
	}
	run("SET enable_seqscan = on; SET enable_hashjoin = on; SET statement_timeout = 0; SET synchronous_commit = off")
	var rebuild []string
	if quick {
		run("SET maintenance_work_mem = '128MB'")
		for _, table := range tables[:3] {
			run("ALTER TABLE " + table + " SET UNLOGGED")
		}
		rebuild = dropIndexes(t, conn, tables[:3])
	}
	run(fmt.Sprintf(crowdRows, c.finished, c.queued, max(0, 100-c.queued/crowdQueues)))
	for _, sql := range rebuild {
		run(sql)
	}
	run("RESET enable_seqscan; RESET enable_hashjoin; RESET statement_timeout; RESET synchronous_commit; RESET maintenance_work_mem")
}

// dropIndexes drops all indexes of some tables and returns the statements that make them again.
func dropIndexes(t *testing.T, conn *pgx.Conn, tables []string) (rebuild []string) {
	t.Helper()
	rows, err := conn.Query(t.Context(), `
		SELECT i.indexrelid::regclass::text, i.indrelid::regclass::text, coalesce(c.conname, ''),
			coalesce(pg_get_constraintdef(c.oid), pg_get_indexdef(i.indexrelid))
		FROM pg_index i LEFT JOIN pg_constraint c ON c.conindid = i.indexrelid
		WHERE i.indrelid = ANY($1::text[]::regclass[])`, tables)
	if err != nil {
		t.Fatal(err)
	}
	var drop []string
	var index, table, constraint, definition string
	_, err = pgx.ForEachRow(rows, []any{&index, &table, &constraint, &definition}, func() error {
		if constraint == "" {
			drop, rebuild = append(drop, "DROP INDEX "+index), append(rebuild, definition)
			return nil
		}
		drop = append(drop, fmt.Sprintf("ALTER TABLE %s DROP CONSTRAINT %s", table, constraint))
		rebuild = append(rebuild, fmt.Sprintf("ALTER TABLE %s ADD CONSTRAINT %s %s", table, constraint, definition))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(context.WithoutCancel(t.Context()), strings.Join(drop, "; "), pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	return rebuild
}

// crowdRows takes how many jobs are finished and queued, and how many more are in the queue of usr_7.
const crowdRows = `
	INSERT INTO jobs (id, workspace_id, owner, queue_key, state, revision, failure_class, created_at, queued_at, ended_at)
	SELECT 'job_f' || lpad(n::text, 7, '0'), 'wsp_1', 'user:usr_' || n %% 100, 'user:usr_' || n %% 100 || '/*',
		CASE n %% 4 WHEN 0 THEN 'failed' ELSE 'succeeded' END, 5, CASE n %% 4 WHEN 0 THEN 'script' END,
		'2026-01-01', '2026-01-01', '2026-01-01'
	FROM generate_series(1, %[1]d) n;
	INSERT INTO jobs (id, workspace_id, owner, queue_key, state, revision, created_at, queued_at)
	SELECT 'job_q' || lpad(n::text, 7, '0'), 'wsp_1', 'user:usr_' || n %% 1000, 'user:usr_' || n %% 1000 || '/*', 'queued', 1,
		'2026-01-01', '2026-01-01'
	FROM (SELECT generate_series(1, %[2]d) UNION ALL SELECT 2000007 + 1000 * generate_series(1, %[3]d)) x (n)
	ORDER BY CASE WHEN %[3]d > 0 THEN md5(n::text) END, n; -- a queue's jobs do not lie side by side
	INSERT INTO jobs (id, workspace_id, owner, queue_key, state, revision, attempt, epoch, lease_runner_id, lease_digest,
		lease_expires_at, deadline_at, created_at, queued_at, started_at)
	SELECT 'job_l' || lpad(n::text, 7, '0'), 'wsp_1', 'user:usr_' || n %% 100, 'user:usr_' || n %% 100 || '/*', 'running', 1,
		1, 1, 'rnr-' || n %% 50, 'd', '2026-01-01', '2026-01-01', '2026-01-01', '2026-01-01', '2026-01-01'
	FROM generate_series(1, 100) n;
	INSERT INTO job_payloads (job_id, spec) SELECT id, '{}' FROM jobs;
	INSERT INTO attempts (job_id, number, runner_id, epoch, state, lease_digest, log_digest, leased_at, ended_at)
	SELECT id, 1, 'rnr-1', 1, CASE state WHEN 'running' THEN 'running' ELSE 'succeeded' END, 'd', id::bytea, now(),
		CASE state WHEN 'running' THEN NULL ELSE now() END
	FROM jobs WHERE state <> 'queued';
	INSERT INTO results (job_id, number, result)
	SELECT job_id, number, '{}' FROM attempts WHERE state <> 'running' AND job_id < 'job_f0050000';
	INSERT INTO events (at, actor, action, job_id)
	SELECT now(), 'system', 'job.submitted', id FROM jobs WHERE id < 'job_f0050000' OR id > 'job_l';
	INSERT INTO runners (id, owner, label, token_digest, paired_at)
	SELECT 'rnr-' || n, 'user:usr_' || n %% 100, 'r' || n, ('rnr-' || n)::bytea, now() FROM generate_series(1, 2000) n;
	INSERT INTO idempotency_keys (scope, key, fingerprint, job_id, created_at)
	SELECT 'usr_1', 'k' || n, '', 'job_f', '2026-01-01' FROM generate_series(1, 2000) n`
