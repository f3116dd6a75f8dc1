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
		if err := dropTemplate(); err != nil {
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

// template is the database that each test's own is a copy of.
var template struct {
	sync.Mutex
	name string
}

func templateName(tb testing.TB) string {
	tb.Helper()
	template.Lock()
	defer template.Unlock()
	if template.name != "" {
		return template.name
	}
	name := "rh_template_" + strings.ToLower(rand.Text()[:10])
	admin(tb, "CREATE DATABASE "+name)
	template.name = name
	s, err := postgres.Open(tb.Context(), databaseURL(tb, name), postgres.Options{MaxConns: 2})
	if err != nil {
		tb.Fatal(err)
	}
	if err := s.Close(); err != nil {
		tb.Fatal(err)
	}
	return name
}

func dropTemplate() error {
	template.Lock()
	defer template.Unlock()
	if template.name == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return execute(ctx, "DROP DATABASE IF EXISTS "+template.name+" WITH (FORCE)")
}

func execute(ctx context.Context, sql string) error {
	base := os.Getenv(envURL)
	if base == "" {
		return errors.New(envURL + " is not set: run `make test PKG=./hub/dispatch`, or `export " + envURL + "=$(.ci/lib/ensure-postgres.sh)`")
	}
	conn, err := pgx.Connect(ctx, base)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql)
	return err
}

func admin(tb testing.TB, sql string) {
	tb.Helper()
	if err := execute(tb.Context(), sql); err != nil {
		tb.Fatal(err)
	}
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

// newDatabase makes an empty, migrated database, dropped after the test.
func newDatabase(tb testing.TB) string {
	tb.Helper()
	from := templateName(tb)
	name := "rh_test_" + strings.ToLower(rand.Text()[:16])
	admin(tb, "CREATE DATABASE "+name+" TEMPLATE "+from)
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := execute(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			tb.Error(err)
		}
	})
	return databaseURL(tb, name)
}
