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

// opener opens a store once more, as another hub would. A SQLite file has one
// hub at a time, so there it is the same store again.
type opener func(t testing.TB) hub.Store

// onStores runs a test on every kind of store, each with one of its own.
func onStores(t *testing.T, f func(t *testing.T, open opener)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		s := openSQLite(t)
		f(t, func(testing.TB) hub.Store { return s })
	})
	onPostgres(t, f)
}

// onPostgres runs a test on the store that several hubs can share.
func onPostgres(t *testing.T, f func(t *testing.T, open opener)) {
	t.Helper()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		u := newDatabase(t)
		f(t, func(t testing.TB) hub.Store { return openPostgres(t, u) })
	})
}

func openSQLite(t testing.TB) hub.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "hub.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func openPostgres(t testing.TB, u string) hub.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), u, postgres.Options{MaxConns: 6})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

const envURL = "RUNNERHUB_TEST_POSTGRES_URL"

// template is the database that each test's own is a copy of.
var template struct {
	sync.Mutex
	name string
}

func templateName(t testing.TB) string {
	t.Helper()
	template.Lock()
	defer template.Unlock()
	if template.name != "" {
		return template.name
	}
	name := "rh_template_" + strings.ToLower(rand.Text()[:10])
	admin(t, "CREATE DATABASE "+name)
	template.name = name
	s, err := postgres.Open(t.Context(), databaseURL(t, name), postgres.Options{MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
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
	defer conn.Close(ctx) //nolint:errcheck // the statement has been answered
	_, err = conn.Exec(ctx, sql)
	return err
}

func admin(t testing.TB, sql string) {
	t.Helper()
	if err := execute(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

func databaseURL(t testing.TB, name string) string {
	t.Helper()
	u, err := url.Parse(os.Getenv(envURL))
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}

// newDatabase makes an empty, migrated database, dropped after the test.
func newDatabase(t testing.TB) string {
	t.Helper()
	from := templateName(t)
	name := "rh_test_" + strings.ToLower(rand.Text()[:16])
	admin(t, "CREATE DATABASE "+name+" TEMPLATE "+from)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := execute(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	return databaseURL(t, name)
}
