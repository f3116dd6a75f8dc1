package dispatch_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/postgres"
	"github.com/runnerhub/runnerhub/hub/sqlite"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := dropDatabases(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
		os.Exit(code)
	}))
}

// backend is a kind of store that a test runs on.
type backend struct {
	testing.TB
	// open opens the store once more, as another hub would. A SQLite file has one
	// hub at a time, so there it is the same store again.
	open func() hub.Store
}

// onStores runs a test on every kind of store, each with one of its own.
func onStores(t *testing.T, f func(backend)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		s := openSQLite(t)
		f(backend{t, func() hub.Store { return s }})
	})
	onPostgres(t, f)
}

// onPostgres runs a test on the store that several hubs can share.
func onPostgres(t *testing.T, f func(backend)) {
	t.Helper()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		u := newDatabase(t)
		f(backend{t, func() hub.Store { return openPostgres(t, u) }})
	})
}

func openSQLite(tb testing.TB) hub.Store {
	tb.Helper()
	s, err := sqlite.Open(tb.Context(), filepath.Join(tb.TempDir(), "hub.db"), sqlite.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

func openPostgres(tb testing.TB, u string) hub.Store {
	tb.Helper()
	s, err := postgres.Open(tb.Context(), u, postgres.Options{MaxConns: 6})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

const envURL = "RUNNERHUB_TEST_POSTGRES_URL"

// databases are those that no test uses at the moment. To make and drop one costs
// the server a checkpoint each, which on a busy machine takes longer than the tests; to empty one does not.
var databases struct {
	sync.Mutex
	free, all []string
}

func dropDatabases() error {
	databases.Lock()
	defer databases.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var failed error
	for _, name := range databases.all {
		failed = errors.Join(failed, execute(ctx, os.Getenv(envURL), "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"))
	}
	return failed
}

// newDatabase finds or makes an empty database and returns its URL. A store that is opened on it
// migrates it.
func newDatabase(tb testing.TB) string {
	tb.Helper()
	if os.Getenv(envURL) == "" {
		tb.Fatal(envURL + " is not set: run `make test PKG=./hub/dispatch`, or `export " + envURL + "=$(.ci/lib/ensure-postgres.sh)`")
	}
	name := freeDatabase()
	if name == "" {
		name = "rh_test_" + strings.ToLower(rand.Text()[:16])
		if err := execute(tb.Context(), os.Getenv(envURL), "CREATE DATABASE "+name); err != nil {
			tb.Fatal(err)
		}
		databases.Lock()
		databases.all = append(databases.all, name)
		databases.Unlock()
	}
	u := databaseURL(tb, name)
	tb.Cleanup(func() { // after the stores on it were closed
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := execute(ctx, u, emptyTables); err != nil {
			tb.Error(err)
			return
		}
		databases.Lock()
		defer databases.Unlock()
		databases.free = append(databases.free, name)
	})
	return u
}

func freeDatabase() string {
	databases.Lock()
	defer databases.Unlock()
	if len(databases.free) == 0 {
		return ""
	}
	name := databases.free[0]
	databases.free = databases.free[1:]
	return name
}

// emptyTables deletes what a hub wrote, and leaves the schema, its version and the hub's id.
const emptyTables = `
DO $$
BEGIN
    EXECUTE (SELECT 'TRUNCATE ' || string_agg(format('%I', tablename), ', ') FROM pg_tables
        WHERE schemaname = 'public' AND tablename <> 'meta' AND tablename NOT LIKE 'goose%');
END $$`

// execute runs one statement on a database.
func execute(ctx context.Context, at, sql string) error {
	conn, err := pgx.Connect(ctx, at)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql)
	return err
}

func databaseURL(tb testing.TB, name string) string {
	tb.Helper()
	u, err := url.Parse(os.Getenv(envURL))
	if err != nil {
		tb.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}
