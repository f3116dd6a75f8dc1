package bench

import (
	"context"
	"fmt"
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

// describeServer names the server's version and what its durability and speed hang on.
func describeServer(ctx context.Context) (string, error) {
	conn, err := pgx.Connect(ctx, os.Getenv("RUNNERHUB_TEST_POSTGRES_URL"))
	if err != nil {
		return "", err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var version, settings string
	err = conn.QueryRow(ctx, `SELECT current_setting('server_version'), string_agg(name || ' ' || current_setting(name), ', ' ORDER BY name)
		FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes', 'wal_sync_method', 'shared_buffers', 'max_wal_size', 'max_connections')`,
	).Scan(&version, &settings)
	return fmt.Sprintf("PostgreSQL %s (%s)", version, settings), err
}
