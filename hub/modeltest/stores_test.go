package modeltest

import (
	"context"
	"crypto/rand"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/memory"
	"github.com/runnerhub/runnerhub/hub/postgres"
	"github.com/runnerhub/runnerhub/hub/sqlite"
)

// stores opens one store of each kind as often as it has hubs. All histories of a test share it. What lasts through a
// power cut is not asked here, so nothing waits for a disk, and thousands of histories take minutes.
var stores = map[string]func(testing.TB) [hubs]hub.Store{
	"memory":   func(tb testing.TB) [hubs]hub.Store { return shared(tb, memory.New()) },
	"sqlite":   openSQLite,
	"postgres": openPostgres,
}

// shared is a store that one process has: its hubs stand for one hub and its successor.
func shared(tb testing.TB, s hub.Store) (all [hubs]hub.Store) {
	tb.Helper()
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	for i := range all {
		all[i] = s
	}
	return all
}

func openSQLite(tb testing.TB) [hubs]hub.Store {
	tb.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "runnerhub-") // in memory, where a system has it
	if err != nil {
		dir = tb.TempDir()
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	s, err := sqlite.Open(tb.Context(), filepath.Join(dir, "hub.db"), sqlite.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return shared(tb, s)
}

const envURL = "RUNNERHUB_TEST_POSTGRES_URL"

func openPostgres(tb testing.TB) (all [hubs]hub.Store) {
	tb.Helper()
	if os.Getenv(envURL) == "" {
		tb.Fatal(envURL + " is not set: run `make test PKG=./hub/modeltest`, or `export " + envURL + "=$(.ci/lib/ensure-postgres.sh)`")
	}
	name := "rh_test_" + strings.ToLower(rand.Text()[:16])
	onServer(tb, "CREATE DATABASE "+name)
	tb.Cleanup(func() { onServer(tb, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)") })
	u, err := url.Parse(os.Getenv(envURL))
	if err != nil {
		tb.Fatal(err)
	}
	u.Path = "/" + name
	q := u.Query()
	q.Set("synchronous_commit", "off")
	u.RawQuery = q.Encode()
	for i := range all {
		s, err := postgres.Open(tb.Context(), u.String(), postgres.Options{MaxConns: 4})
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() {
			if err := s.Close(); err != nil {
				tb.Error(err)
			}
		})
		all[i] = s
	}
	return all
}

// onServer runs one statement on the server's maintenance database.
func onServer(tb testing.TB, sql string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, os.Getenv(envURL))
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, sql); err != nil {
		tb.Error(err)
	}
}
