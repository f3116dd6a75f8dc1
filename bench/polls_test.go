package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/runnerhub/runnerhub/bench/hubproc"
	"github.com/runnerhub/runnerhub/bench/report"
	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/storetest"
	"github.com/runnerhub/runnerhub/pairing"
)

// BenchmarkHeldPolls has 5,000 runners hold a lease_job, each on a connection of its own.
func BenchmarkHeldPolls(b *testing.B) {
	const polls = 5000
	database := newDatabase(b)
	h := hubproc.Start(b, hubproc.Postgres, database, nil)
	tokens := pairAtOnce(b, database, polls)
	before, err := h.Usage()
	must(b, err)
	waits := newWaiting(b, h, tokens)
	must(b, h.UntilConnections(polls, time.Minute))
	if _, err := waits.samples(20); err != nil { // by the first answers all calls are held
		b.Fatal(err)
	}
	after, err := h.Usage()
	must(b, err)
	wake, err := waits.samples(200)
	must(b, err)
	each := float64(after.Heap+after.Stack-before.Heap-before.Stack) / polls / 1024
	b.Logf("heap %d KiB and stack %d KiB in all", (after.Heap-before.Heap)>>10, (after.Stack-before.Stack)>>10)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(each, "KiB-each")
	b.ReportMetric(median(wake), "ms-median")
	measured.Add(report.Row{
		Place: 12, What: "5,000 held polls: memory of the hub for each (heap and stack, its connection included), and submit → lease with all of them waiting",
		Measured: fmt.Sprintf("%.0f KiB each, median %.1f ms, p99 %.1f ms", each, median(wake), quantile(wake, 0.99)),
		Goal:     "at most 60 KB each, wake-up at most 5 ms", Met: each*1.024 <= 60 && median(wake) <= 5,
	})
}

// pairAtOnce makes runners of the only user's, without the calls that each would take, and returns their tokens.
func pairAtOnce(b *testing.B, database string, n int) []string {
	b.Helper()
	conn := connect(b, database)
	var user string
	must(b, conn.QueryRow(b.Context(), `SELECT id FROM users`).Scan(&user))
	tokens, rows := make([]string, n), make([][]any, n)
	for i := range n {
		tokens[i] = pairing.New(pairing.RunnerToken)
		r := storetest.NewRunner(hub.UserOwner(user))
		rows[i] = []any{r.ID, string(r.Owner), r.Label, hub.Digest(tokens[i]), time.Now()}
	}
	columns := []string{"id", "owner", "label", "token_digest", "paired_at"}
	_, err := conn.CopyFrom(b.Context(), pgx.Identifier{"runners"}, columns, pgx.CopyFromRows(rows))
	must(b, err)
	return tokens
}
