package bench

import (
	"context"
	"testing"

	"github.com/runnerhub/runnerhub/bench/hubproc"
	"github.com/runnerhub/runnerhub/bench/load"
)

const (
	runners   = 64
	producers = 32
	// inFlight lets every runner hold a job, every producer submit one, and as many wait.
	inFlight = 2 * runners
)

// hubSide is a hub over MCP with everybody connected.
func hubSide(b *testing.B, k hubproc.Kind) side {
	b.Helper()
	var database string
	if k == hubproc.Postgres || k == hubproc.Direct {
		database = newDatabase(b)
	}
	h := hubproc.Start(b, k, database, nil)
	l := load.Start(load.Config{
		Addr: h.Addr, Key: h.Key, Spec: spec(), Producers: producers, Runners: h.Pair(runners), InFlight: inFlight, Chained: true,
	})
	b.Cleanup(func() {
		if err := l.Close(); err != nil {
			b.Error(err)
		}
	})
	return side{"hub on " + string(k), func() (float64, error) { return l.Measure(window) }}
}

// plainSide is three transactions a job on 32 connections.
func plainSide(b *testing.B) side {
	b.Helper()
	const conns = 32
	p := newPlain(b, conns, spec())
	return side{"plain transactions", func() (float64, error) {
		return perSecond(b.Context(), conns, window, func(ctx context.Context, _ int) error { return p.job(ctx) })
	}}
}

func BenchmarkHubAgainstPlainTransactions(b *testing.B) {
	atLeast(b, 1, "hub over MCP, PostgreSQL, 64 runners and 32 producers, jobs a second against three plain pgx transactions a job at 32 connections",
		compare(b, hubSide(b, hubproc.Postgres), plainSide(b)), 1.2)
}

func BenchmarkHubAgainstMemory(b *testing.B) {
	atLeast(b, 2, "the same hub against itself with an in-memory store",
		compare(b, hubSide(b, hubproc.Postgres), hubSide(b, hubproc.Memory)), 0.55)
}

func BenchmarkHubAgainstDirectWrites(b *testing.B) {
	atLeast(b, 3, "the same hub against a direct-pgx version of it (no group commit)",
		compare(b, hubSide(b, hubproc.Postgres), hubSide(b, hubproc.Direct)), 2.5)
}

func BenchmarkSQLiteHubAgainstPostgresHub(b *testing.B) {
	atLeast(b, 10, "SQLite (synchronous FULL) hub against PostgreSQL hub",
		compare(b, hubSide(b, hubproc.SQLite), hubSide(b, hubproc.Postgres)), 1)
}
