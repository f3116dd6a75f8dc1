package postgres

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/runnerhub/runnerhub/hub"
)

// hot are the statements whose plans are held: how they may reach each table, and how many pages they may
// touch with 20,000 finished and 2,000 queued jobs in it.
type hot struct {
	name    string
	sql     string
	args    []any
	indexes []string // one of these for each scan of jobs
	pages   int
}

func hotStatements() []hot {
	const key, job, live = "user:usr_7/*", "job_q0000107", "job_l0000007"
	p := newJob(owner, "")
	p.IdempotencyKey, p.Fingerprint, p.MaxQueued = "key", []byte("f"), 1000
	j := p.Job
	j.ID, j.State, j.Attempt, j.Epoch = live, hub.JobRunning, 1, 1
	c := hub.Change{Decision: hub.Decision{Job: j, Guard: hub.Guard{State: hub.JobRunning, Epoch: 1, Revision: 1}}, Event: p.Event}
	c.Job.LeaseRunnerID, c.Job.LeaseDigest = "rnr-7", []byte("d")
	c.Job.LeaseExpiresAt, c.Job.DeadlineAt, c.Job.StartedAt = at(9), at(10), at(2)
	first, renewed, settled := c, c, c
	first.Job.ID, first.Job.State, first.Guard = job, hub.JobLeased, hub.Guard{State: hub.JobQueued, Revision: 1}
	first.NewAttempt = &hub.Attempt{Number: 1, RunnerID: "rnr-7", Epoch: 1, State: hub.AttemptLeased,
		LeaseDigest: []byte("d"), LogDigest: []byte("x"), LeasedAt: at(1)}
	first.MaxRunning, first.MaxRunningPerWorkspace, first.Job.Group = 100, 100, "deploy"
	c.Started = true
	settled.EndAttempt = &hub.AttemptEnd{State: hub.AttemptSucceeded, At: at(9), ReportDigest: []byte("d"), Result: []byte("{}")}
	changes := func(list ...*hub.Change) []any { return argsOf(changeFields, list) }
	list := func(f hub.JobFilter) (string, []any) {
		f.Limit = 20
		return listJobs(f)
	}
	mine, mineArgs := list(hub.JobFilter{Owners: []hub.Owner{"user:usr_7", "user:usr_8"}})
	page, pageArgs := list(hub.JobFilter{
		Owners: []hub.Owner{"user:usr_7", "user:usr_8"}, States: []hub.JobState{hub.JobSucceeded}, BeforeID: "job_f0010000",
	})
	apply := []string{"jobs_pkey", "jobs_live_owner", "jobs_group"} // one statement, whose plan has a place for each
	return []hot{
		{"enqueue", enqueueJobs, argsOf(enqueueFields, []*hub.EnqueueParams{&p}), []string{"jobs_claim"}, 120},
		{"lease", applyChanges, changes(&first), apply, 140},
		{"start", applyChanges, changes(&c), apply, 80},
		{"heartbeat", applyChanges, changes(&renewed), apply, 40},
		{"settle", applyChanges, changes(&settled), apply, 100},
		{"job", selectJobsByID, []any{[]string{job}}, []string{"jobs_pkey"}, 10},
		{"payload", selectPayloads, []any{[]string{job}}, nil, 10},
		{"queue", selectQueued, []any{key, -2147483648, "", 10}, []string{"jobs_claim"}, 90},
		{"queue's next page", selectQueued, []any{key, 0, job, 10}, []string{"jobs_claim"}, 90},
		{"queue of a workspace", selectQueuedOf, []any{key, -2147483648, "", 10, "wsp_1"}, []string{"jobs_claim"}, 90},
		{"shares", selectShares, []any{key, "user:usr_7"}, []string{"jobs_claim", "jobs_live_owner"}, 90},
		{"groups", selectGroupHolders, []any{[]string{"wsp_1", "wsp_1"}, []string{"deploy", "other"}}, []string{"jobs_group"}, 20},
		{"group's queue", selectGroup, []any{"wsp_1", "deploy", 10}, []string{"jobs_group_queue"}, 60},
		{"ahead", countAhead, []any{key, 0, job}, []string{"jobs_claim"}, 60},
		{"queues", selectQueueKeys, []any{at(1)}, []string{"jobs_claim"}, 900}, // of 100 queues, twice each
		{"live", selectLive, []any{"", 50}, []string{"jobs_live"}, 500},
		// On empty tables the planner tosses up between the two indexes. Both hold what is live and no more.
		{"live of a runner", selectHeld, []any{[]string{"rnr-7"}}, []string{"jobs_live_runner", "jobs_live_owner"}, 60},
		{"live by runner", countLive, []any{"user:usr_7"}, []string{"jobs_live_owner"}, 60},
		{"list", mine, mineArgs, []string{"jobs_list"}, 250},
		{"page", page, pageArgs, []string{"jobs_list"}, 450},
		{"attempts", selectAttempts, []any{live}, nil, 10},
		{"attempt", selectAttempt, []any{live, 1}, nil, 15},
		{"log", selectAttemptByLog, []any{[]byte("x")}, nil, 10},
		{"append", appendLog, []any{live, 1, 0, 10, []byte("d"), "k"}, nil, 60},
		{"chunks", selectChunks, []any{live, 1, 0, 10}, nil, 10},
		{"chunks before", selectChunksBefore, []any{live, 1, 100, 10}, nil, 10},
		{"events", selectEvents, []any{job}, nil, 10},
		{"runner", selectRunnersByID, []any{[]string{"rnr-7"}}, nil, 10},
		{"memberships", selectMemberships, []any{[]string{"usr_7"}}, nil, 10},
		{"workspace", selectWorkspaces, []any{[]string{"wsp_1"}}, nil, 10},
		{"runner by token", selectRunnersByToken, []any{[][]byte{[]byte("rnr-7")}}, nil, 15},
		{"runners", listRunners, []any{"user:usr_7", false, "", 10}, nil, 40},
		{"user by key", selectUsersByKey, []any{[][]byte{[]byte("d")}}, nil, 10},
	}
}

// crowd fills the tables: 100 owners with a queue and 200 finished jobs each, and 100 live jobs.
const crowd = `
	INSERT INTO jobs (id, workspace_id, owner, queue_key, state, revision, failure_class, created_at, queued_at, ended_at)
	SELECT 'job_f' || lpad(n::text, 7, '0'), 'wsp_1', 'user:usr_' || n % 100, 'user:usr_' || n % 100 || '/*',
		CASE n % 4 WHEN 0 THEN 'failed' ELSE 'succeeded' END, 5, CASE n % 4 WHEN 0 THEN 'script' END, now(), now(), now()
	FROM generate_series(1, 20000) n;
	INSERT INTO jobs (id, workspace_id, owner, queue_key, state, revision, created_at, queued_at)
	SELECT 'job_q' || lpad(n::text, 7, '0'), 'wsp_1', 'user:usr_' || n % 100, 'user:usr_' || n % 100 || '/*', 'queued', 1,
		'2026-01-01', '2026-01-01'
	FROM generate_series(1, 2000) n;
	INSERT INTO jobs (id, workspace_id, owner, queue_key, state, revision, attempt, epoch, lease_runner_id, lease_digest,
		lease_expires_at, deadline_at, created_at, queued_at, started_at)
	SELECT 'job_l' || lpad(n::text, 7, '0'), 'wsp_1', 'user:usr_' || n % 100, 'user:usr_' || n % 100 || '/*', 'running', 1,
		1, 1, 'rnr-' || n % 50, 'd', '2026-01-01', '2026-01-01', '2026-01-01', '2026-01-01', '2026-01-01'
	FROM generate_series(1, 100) n;
	INSERT INTO job_payloads (job_id, spec) SELECT id, '{}' FROM jobs;
	INSERT INTO attempts (job_id, number, runner_id, epoch, state, lease_digest, log_digest, leased_at, ended_at)
	SELECT id, 1, 'rnr-1', 1, CASE state WHEN 'running' THEN 'running' ELSE 'succeeded' END, 'd', id::bytea, now(),
		CASE state WHEN 'running' THEN NULL ELSE now() END
	FROM jobs WHERE state <> 'queued';
	INSERT INTO results (job_id, number, result) SELECT job_id, number, '{}' FROM attempts WHERE state <> 'running';
	INSERT INTO events (at, actor, action, job_id) SELECT now(), 'system', 'job.submitted', id FROM jobs;
	INSERT INTO runners (id, owner, label, token_digest, paired_at)
	SELECT 'rnr-' || n, 'user:usr_' || n % 100, 'r' || n, ('rnr-' || n)::bytea, now() FROM generate_series(1, 2000) n;
	INSERT INTO idempotency_keys (scope, key, fingerprint, job_id, created_at)
	SELECT 'usr_1', 'k' || n, '', 'job_f', now() FROM generate_series(1, 2000) n`

// A hub's connections prepare a statement once and keep its plan, so that what matters is the plan that is
// made when the tables are empty, when nobody has ever analysed them, and when somebody has.
func TestPlans(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"prepared on empty tables", "never analysed", "analysed"} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			s, ctx := open(t), t.Context()
			conn, err := s.pool.Acquire(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Release()
			run := func(sql string) {
				t.Helper()
				if _, err := conn.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol); err != nil {
					t.Fatal(err)
				}
			}
			for _, table := range []string{"jobs", "job_payloads", "attempts", "results", "events", "runners"} {
				run("ALTER TABLE " + table + " SET (autovacuum_enabled = off)")
			}
			list := hotStatements()
			prepare := func() {
				for i, h := range list {
					if _, err := conn.Conn().Prepare(ctx, fmt.Sprintf("hot%d", i), h.sql); err != nil {
						t.Fatalf("%s: %v", h.name, err)
					}
					// The plan is made at the first execution and kept.
					explain(t, conn.Conn(), i, h, false)
				}
			}
			if state == "prepared on empty tables" {
				prepare()
			}
			run("SET enable_seqscan = on; SET enable_hashjoin = on; SET statement_timeout = 0; " + crowd +
				"; RESET enable_seqscan; RESET enable_hashjoin; RESET statement_timeout")
			switch state {
			case "analysed":
				run("ANALYZE")
				prepare()
			case "never analysed":
				prepare()
			}
			for i, h := range list {
				checkPlan(t, h, explain(t, conn.Conn(), i, h, true))
			}
		})
	}
}

// A heartbeat's new row stays in its page and touches no index, because nothing that it changes is indexed.
func TestHeartbeatIsHOT(t *testing.T) {
	t.Parallel()
	s, ctx := open(t), t.Context()
	p := newJob(owner, "")
	c, proof := leased(t, p, enqueued(t, s, p), newRunner(owner))
	j := apply(t, s, c)
	d, err := hub.Heartbeat(j, p.Payload, proof, "pull", "", "", at(2), hub.DefaultPolicy())
	j = apply(t, s, decided(t, d, err))
	d, err = hub.Heartbeat(j, p.Payload, proof, "run", "build", "half", at(17), hub.DefaultPolicy())
	if err != nil {
		t.Fatal(err)
	}
	tx, err := s.pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(ctx)
	c = change(d)
	tag, err := tx.Exec(ctx, applyChanges, argsOf(changeFields, []*hub.Change{&c})...)
	if err != nil || tag.RowsAffected() != 1 {
		t.Fatalf("%s, error %v", tag, err)
	}
	var hot int
	if err := tx.QueryRow(ctx, "SELECT pg_stat_get_xact_tuples_hot_updated('jobs'::regclass)").Scan(&hot); err != nil || hot != 1 {
		t.Errorf("%d HOT updates, error %v", hot, err)
	}
}

// node is a step of a plan, as EXPLAIN writes it.
type node struct {
	Type     string `json:"Node Type"`
	Relation string `json:"Relation Name"`
	Index    string `json:"Index Name"`
	Hit      int    `json:"Shared Hit Blocks"`
	Read     int    `json:"Shared Read Blocks"`
	Plans    []node `json:"Plans"`
}

func explain(t *testing.T, conn *pgx.Conn, i int, h hot, run bool) node {
	t.Helper()
	values := make([]string, len(h.args))
	for i, a := range h.args {
		values[i] = literal(t, a)
	}
	sql := fmt.Sprintf("EXPLAIN (ANALYZE %t, BUFFERS %[1]t, FORMAT JSON) EXECUTE hot%d(%s)", run, i, strings.Join(values, ", "))
	ctx := t.Context()
	tx, err := conn.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(ctx)
	var out string
	if err := tx.QueryRow(ctx, sql, pgx.QueryExecModeSimpleProtocol).Scan(&out); err != nil {
		t.Fatalf("%s: %v\n%s", h.name, err, sql)
	}
	var plans []struct{ Plan node }
	if err := json.Unmarshal([]byte(out), &plans); err != nil {
		t.Fatal(err)
	}
	return plans[0].Plan
}

func checkPlan(t *testing.T, h hot, n node) {
	t.Helper()
	if pages := n.Hit + n.Read; pages > h.pages {
		t.Errorf("%s touches %d pages, more than %d", h.name, pages, h.pages)
	}
	var walk func(n node)
	walk = func(n node) {
		switch {
		case n.Type == "Seq Scan" && !slices.Contains([]string{"goose_db_version"}, n.Relation):
			t.Errorf("%s reads the whole of %s", h.name, n.Relation)
		case strings.HasPrefix(n.Type, "Bitmap"), n.Type == "Hash Join", n.Type == "Merge Join":
			t.Errorf("%s has a %s", h.name, n.Type)
		case n.Relation == "jobs" && n.Index != "" && !slices.Contains(h.indexes, n.Index):
			t.Errorf("%s reaches jobs by %s, not by one of %s", h.name, n.Index, h.indexes)
		}
		for _, c := range n.Plans {
			walk(c)
		}
	}
	walk(n)
}

// literal writes an argument as SQL, because EXECUTE takes no parameters.
func literal(t *testing.T, v any) string {
	t.Helper()
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	switch v := v.(type) {
	case nil:
		return "NULL"
	case bool, int, int64:
		return fmt.Sprint(v)
	case string:
		return quote(v)
	case []byte:
		if v == nil {
			return "NULL"
		}
		if json.Valid(v) {
			return quote(string(v))
		}
		return fmt.Sprintf(`'\x%x'`, v)
	case []string:
		words := make([]string, len(v))
		for i, w := range v {
			words[i] = quote(w)
		}
		return "ARRAY[" + strings.Join(words, ",") + "]::text[]"
	case stamp:
		if time.Time(v).IsZero() {
			return "NULL"
		}
		return quote(time.Time(v).Format(time.RFC3339Nano))
	case time.Time:
		return quote(v.Format(time.RFC3339Nano))
	default:
		list := reflect.ValueOf(v)
		if list.Kind() != reflect.Slice {
			t.Fatalf("no literal for %T", v)
		}
		words := make([]string, list.Len())
		for i := range words {
			words[i] = element(t, list.Index(i).Interface())
		}
		return quote("{" + strings.Join(words, ",") + "}")
	}
}

// element writes a value as an element of an array.
func element(t *testing.T, v any) string {
	t.Helper()
	if p := reflect.ValueOf(v); p.Kind() == reflect.Pointer {
		if p.IsNil() {
			return "NULL"
		}
		v = p.Elem().Interface()
	}
	switch v := v.(type) {
	case int32, int64, bool:
		return fmt.Sprint(v)
	case string:
		return strconv.Quote(v)
	case []byte:
		if v == nil {
			return "NULL"
		}
		return fmt.Sprintf(`"\\x%x"`, v)
	case stamp:
		if time.Time(v).IsZero() {
			return "NULL"
		}
		return strconv.Quote(time.Time(v).Format(time.RFC3339Nano))
	default:
		t.Fatalf("no element for %T", v)
		return ""
	}
}
