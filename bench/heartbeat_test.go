package bench

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/runnerhub/runnerhub/bench/report"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/hub/storetest"
)

// BenchmarkHeartbeats has 5,000 leases renewed every 15 s for that long, and counts the processor time of the database's
// processes that serve it.
func BenchmarkHeartbeats(b *testing.B) {
	const leases, every, machines = 5000, 15 * time.Second, 50
	database := newDatabase(b)
	c := newCases(b, database, machines)
	held := make([]dispatch.HeartbeatRequest, leases)
	beat := func(i int) error {
		res, err := c.Heartbeat(b.Context(), c.machines[i%machines], held[i])
		if err == nil && res.State != dispatch.HeartbeatHeld {
			err = fmt.Errorf("a heartbeat was answered %q", res.State)
		}
		return err
	}
	must(b, together(64, leases, func(_, i int) error {
		r := c.machines[i%machines].Runner
		p := storetest.NewJob(r.Owner, "")
		j, _, err := c.store.Enqueue(b.Context(), p)
		if err != nil {
			return err
		}
		proof, _, err := storeLease(b.Context(), c.store, j, p.Payload, r)
		held[i] = dispatch.HeartbeatRequest{JobID: j.ID, Proof: proof, Phase: "running"}
		return errors.Join(err, beat(i)) // the first one starts the attempt, which happens once
	}))

	conn := connect(b, database)
	before, commits, begun := processorTime(b, conn), transactions(b, conn), time.Now()
	due := make(chan int, leases) // what is late is caught up with
	go func() {
		defer close(due)
		for i := range leases {
			pause(b.Context(), time.Until(begun.Add(every*time.Duration(i)/leases)))
			due <- i
		}
	}()
	must(b, together(64, 64, func(int, int) error {
		for i := range due {
			if err := beat(i); err != nil {
				return err
			}
		}
		return nil
	}))
	took := time.Since(begun)
	share := (processorTime(b, conn) - before).Seconds() / took.Seconds() * 100
	b.Logf("%.2f transactions a heartbeat", float64(transactions(b, conn)-commits)/leases)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(share, "%-of-a-core")
	measured.Add(report.Row{
		Place: 11, What: "5,000 leases heartbeating every 15 s: processor time of the database's backends",
		Measured: fmt.Sprintf("%.1f %% of one core", share), Goal: "at most 5 % of one core of database time", Met: share <= 5 && took < every+time.Second,
	})
}

// transactions is how many the connection's database has committed. Backends tell their numbers when they fall idle, so the
// latest may lack.
func transactions(b *testing.B, conn *pgx.Conn) (n int64) {
	b.Helper()
	must(b, conn.QueryRow(b.Context(), `SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()`).Scan(&n))
	return n
}

// tick is what the kernel counts processor time in, as seen from outside: USER_HZ, 100 a second on every Linux.
const tick = 10 * time.Millisecond

// processorTime is what the backends of a connection's database, but not its own, have used so far. The server must be on this
// machine. A backend that ends takes its share with it, so the pool must be steady.
func processorTime(b *testing.B, conn *pgx.Conn) (sum time.Duration) {
	b.Helper()
	rows, err := conn.Query(b.Context(), `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	must(b, err)
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	must(b, err)
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		must(b, err)
		_, rest, _ := bytes.Cut(text, []byte(") ")) // the name may hold blanks
		fields := bytes.Fields(rest)
		for _, f := range fields[11:13] { // utime and stime
			n, err := strconv.Atoi(string(f))
			must(b, err)
			sum += time.Duration(n) * tick
		}
	}
	return sum
}
