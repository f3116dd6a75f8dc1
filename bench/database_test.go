package bench

import (
	"context"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/runnerhub/runnerhub/hub/server/servertest"
)

// newDatabase makes an empty database that goes with the benchmark.
func newDatabase(b *testing.B) string {
	b.Helper()
	durable(b)
	return servertest.Database(b)
}

// durable refuses a server that does not keep what it has answered: against such a one nothing here means anything.
func durable(b *testing.B) {
	b.Helper()
	conn, err := pgx.Connect(b.Context(), os.Getenv("RUNNERHUB_TEST_POSTGRES_URL"))
	must(b, err)
	defer conn.Close(context.Background())
	for _, name := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		var value string
		must(b, conn.QueryRow(b.Context(), `SELECT current_setting($1)`, name).Scan(&value))
		if value != "on" {
			b.Fatalf("the server has %s %s; the benchmarks need PostgreSQL's default durability", name, value)
		}
	}
}
