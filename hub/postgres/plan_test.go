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
// touch with 10,000 finished jobs, 1,100 queued and 100 live ones in it.
type hot struct {
	name    string
	sql     string
	args    []any
	indexes []string // one of these for each scan of jobs
	pages   int
}

func hotStatements() []hot {
	const key, job, live = "user:usr_7/*", "job_q0000007", "job_l0000007"
	p := newJob("user:usr_7", "")
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
	grouped := first
	first.Job.Group = ""
	// A group has each job once.
	other := settled
	other.Job.ID = "job_l0000008"
	changes := func(name string, pages int, list ...*hub.Change) hot {
		n := needsOf(list)
		indexes := []string{"jobs_pkey"}
		if n.leases {
			indexes = append(indexes, "jobs_live_owner")
		}
		if n.groups {
			indexes = append(indexes, "jobs_group")
		}
		st := applyChanges[n]
		return hot{name, st.sql, argsOf(st.fields, list), indexes, pages}
	}
	list := func(f hub.JobFilter) (string, []any) {
		f.Limit = 20
		return listJobs(f)
	}
	mine, mineArgs := list(hub.JobFilter{Owners: []hub.Owner{"user:usr_7", "user:usr_8"}})
	page, pageArgs := list(hub.JobFilter{
		Owners: []hub.Owner{"user:usr_7", "user:usr_8"}, States: []hub.JobState{hub.JobSucceeded}, BeforeID: "job_f0010000",
	})
	batch, batchArgs := list(hub.JobFilter{Owners: []hub.Owner{"user:usr_7", "user:usr_8"}, BatchID: "bat_1"})
	return []hot{
		{"enqueue", enqueueJobs, argsOf(enqueueFields, []*hub.EnqueueParams{&p}), []string{"jobs_claim"}, 120},
		changes("lease", 140, &first),
		changes("lease in a group", 140, &grouped),
		changes("start", 80, &c),
		{"heartbeat", renewLeases, argsOf(rowFields, []*hub.Change{&renewed}), []string{"jobs_pkey"}, 40},
		changes("settle", 100, &settled),
		changes("start and settle", 180, &c, &other),
		changes("all at once", 320, &grouped, &c, &other),
		{"job", selectJobsByID, []any{[]string{job}}, []string{"jobs_pkey"}, 10},
		{"payload", selectPayloads, []any{[]string{job}}, nil, 10},
		{"queue", selectQueued, []any{key, -2147483648, "", 10}, []string{"jobs_claim"}, 90},
		{"heads of queues", selectHeads, []any{[]string{key, "user:usr_8/*"}, 10}, []string{"jobs_claim"}, 180},
		{"queue's next page", selectQueued, []any{key, 0, job, 10}, []string{"jobs_claim"}, 90},
		{"queue of a workspace", selectQueuedOf, []any{key, -2147483648, "", 10, "wsp_1"}, []string{"jobs_claim"}, 90},
		{"shares", selectShares, []any{key, "user:usr_7"}, []string{"jobs_claim", "jobs_live_owner"}, 120},
		{"groups", selectGroupHolders, []any{[]string{"wsp_1", "wsp_1"}, []string{"deploy", "other"}}, []string{"jobs_group"}, 20},
		{"group's queue", selectGroup, []any{"wsp_1", "deploy", 10}, []string{"jobs_group_queue"}, 60},
		{"ahead", countAhead, []any{key, 0, job}, []string{"jobs_claim"}, 60},
		{"queues", selectQueueKeys, []any{at(1)}, []string{"jobs_claim"}, 9000}, // of 1,000 queues, twice each
		{"live", selectLive, []any{"", 50}, []string{"jobs_live"}, 500},
		// On empty tables the planner tosses up between the two indexes. Both hold what is live and no more.
		{"live of a runner", selectHeld, []any{[]string{"rnr-7"}}, []string{"jobs_live_runner", "jobs_live_owner"}, 60},
		{"live by runner", countLive, []any{"user:usr_7"}, []string{"jobs_live_owner"}, 60},
		{"list", mine, mineArgs, []string{"jobs_list"}, 250},
		{"page", page, pageArgs, []string{"jobs_list"}, 450},
		{"batch", batch, batchArgs, []string{"jobs_pkey"}, 60},
		{"attempts", selectAttempts, []any{live}, nil, 10},
		{"attempt", selectAttempt, []any{live, 1}, nil, 15},
		{"log", selectAttemptByLog, []any{[]byte("x")}, nil, 10},
		{"append", appendLog, []any{live, 1, 0, 10, []byte("d"), "k"}, nil, 60},
		{"chunks", selectChunks, []any{live, 1, 0, 10}, nil, 10},
		{"chunks before", selectChunksBefore, []any{live, 1, 100, 10}, nil, 10},
		{"events", selectEvents, []any{job}, nil, 10},
		{"upload", selectUploadByToken, []any{[]byte("d")}, nil, 10},
		{"open upload", selectOpenUpload, []any{"user:usr_7", []byte("d"), "source", "user:usr_7", 1, "", 0, "", "", false}, nil, 10},
		{"upload's parts", selectParts, []any{"upl_1", 0, 10}, nil, 10},
		{"add a part", growUpload, []any{"upl_1", 0, 10, "k"}, nil, 20},
		{"blob", selectBlob, []any{"user:usr_7", []byte("d")}, nil, 10},
		{"artifacts", selectArtifacts, []any{live, 1, "", 10}, nil, 20},
		{"artifact", selectArtifact, []any{live, 1, "a"}, nil, 20},
		{"old uploads", selectOldUploads, []any{at(1), 50}, nil, 10},
		{"old artifacts", deleteArtifacts, []any{at(1), 50}, nil, 20},
		{"runner", selectRunnersByID, []any{[]string{"rnr-7"}}, nil, 10},
		{"memberships", selectMemberships, []any{[]string{"usr_7"}}, nil, 10},
		{"workspace", selectWorkspaces, []any{[]string{"wsp_1"}}, nil, 10},
		{"runner by token", selectRunnersByToken, []any{[][]byte{[]byte("rnr-7")}}, nil, 15},
		{"runners", listRunners, []any{"user:usr_7", false, "", 10}, nil, 40},
		{"user by key", selectUsersByKey, []any{[][]byte{[]byte("d")}}, nil, 10},
		{"old keys", deleteKeys, []any{at(1), "", "", 20}, []string{"jobs_pkey"}, 250},
		{"ended", selectEnded, []any{"job_f", "job_g", 50, at(1)}, []string{"jobs_pkey"}, 60},
		{"delete", deleteJobs, []any{at(1), []string{"job_f0000001", "job_f0000002"}}, []string{"jobs_pkey"}, 120},
	}
}

// A hub's connections prepare a statement once and keep its plan, so that what matters is the plan that is
// made when the tables are empty, when nobody has ever analysed them, and when somebody has. And a hub that has run for
// years must cost what a new one does: with a hundred times the rows a statement touches a page more for each row that
// it looks up, since an index is one level higher, and rows that it reads one after the other lie further apart.
func TestPlans(t *testing.T) {
	t.Parallel()
	small, large := crowd{10_000, 1000}, crowd{1_000_000, 100_000}
	few := planned(t, small, true, nil)
	planned(t, large, false, few)
}

// planned holds the plans with a crowd in the tables, and returns how many pages each statement touches. With base
// it also holds those to what they were there.
func planned(t *testing.T, c crowd, early bool, base map[string]int) (pages map[string]int) {
	t.Helper()
	s, list := open(t), hotStatements()
	connect := func() *pgx.Conn {
		t.Helper()
		conn, err := s.pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Release)
		return conn.Conn()
	}
	prepare := func(conn *pgx.Conn) {
		t.Helper()
		for i, h := range list {
			if _, err := conn.Prepare(t.Context(), fmt.Sprintf("hot%d", i), h.sql); err != nil {
				t.Fatalf("%s: %v", h.name, err)
			}
			explain(t, conn, i, h, false) // the plan is made at the first execution and kept
		}
	}
	hold := func(state string, conn *pgx.Conn) {
		t.Helper()
		t.Run(fmt.Sprintf("%d jobs/%s", c.finished, state), func(t *testing.T) {
			pages = map[string]int{}
			for i, h := range list {
				n := explain(t, conn, i, h, true)
				pages[h.name] = n.Hit + n.Read
				if base != nil {
					h.pages = 2*base[h.name] + 20
				}
				checkPlan(t, h, n)
			}
		})
	}
	empty, never, analysed := connect(), connect(), connect()
	if early {
		prepare(empty)
	}
	c.fill(t, never, !early)
	if early {
		hold("prepared on empty tables", empty)
	}
	prepare(never)
	hold("never analysed", never)
	if _, err := analysed.Exec(t.Context(), "SET statement_timeout = 0; ANALYZE; RESET statement_timeout", pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	prepare(analysed)
	hold("analysed", analysed)
	return pages
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
	tag, err := tx.Exec(ctx, renewLeases, argsOf(rowFields, []*hub.Change{&c})...)
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
	Type     string  `json:"Node Type"`
	Relation string  `json:"Relation Name"`
	Index    string  `json:"Index Name"`
	Hit      int     `json:"Shared Hit Blocks"`
	Read     int     `json:"Shared Read Blocks"`
	Rows     float64 `json:"Actual Rows"`
	Plans    []node  `json:"Plans"`
}

// maxSorted is how many rows a statement may put in order: fewer than the hundred that wait in a queue.
const maxSorted = 60

// sortsMore are the statements that may sort more, and how many: the keys of all queues, or what one queue holds.
func sortsMore() map[string]int { return map[string]int{"queues": crowdQueues, "shares": 100} }

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
	most := max(maxSorted, sortsMore()[h.name])
	var walk func(n node)
	walk = func(n node) {
		if strings.HasSuffix(n.Type, "Sort") && n.Rows > float64(most) {
			t.Errorf("%s sorts %.0f rows, more than %d", h.name, n.Rows, most)
		}
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
