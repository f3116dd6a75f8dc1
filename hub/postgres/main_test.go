package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"go.uber.org/goleak"

	"github.com/runnerhub/runnerhub/migrations"
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

const envURL = "RUNNERHUB_TEST_POSTGRES_URL"

// template is the database that each test's own is a copy of: migrating once
// costs half a second, copying a few milliseconds.
var template struct {
	sync.Mutex
	name string
}

func templateName(ctx context.Context) (string, error) {
	template.Lock()
	defer template.Unlock()
	if template.name != "" {
		return template.name, nil
	}
	name := "rh_template_" + strings.ToLower(rand.Text()[:10])
	if err := admin(ctx, "CREATE DATABASE "+name); err != nil {
		return "", err
	}
	template.name = name
	u, err := databaseURL(name)
	if err != nil {
		return "", err
	}
	cfg, err := pgx.ParseConfig(u)
	if err != nil {
		return "", err
	}
	db := stdlib.OpenDB(*cfg)
	defer db.Close()
	return name, migrations.Up(ctx, migrations.Postgres, db)
}

func dropTemplate() error {
	template.Lock()
	defer template.Unlock()
	if template.name == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return admin(ctx, "DROP DATABASE IF EXISTS "+template.name+" WITH (FORCE)")
}

// admin runs one statement on the server's maintenance database.
func admin(ctx context.Context, sql string) error {
	base := os.Getenv(envURL)
	if base == "" {
		return errors.New(envURL + " is not set: run `make test PKG=./hub/postgres`, or " +
			"`export " + envURL + "=$(.ci/lib/ensure-postgres.sh)`")
	}
	conn, err := pgx.Connect(ctx, base)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql)
	return err
}

func databaseURL(name string) (string, error) {
	u, err := url.Parse(os.Getenv(envURL))
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
}

// newDatabase makes an empty, migrated database and returns its URL. It is dropped after the test.
func newDatabase(tb testing.TB) string {
	tb.Helper()
	from, err := templateName(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return createDatabase(tb, " TEMPLATE "+from)
}

// newEmptyDatabase makes a database without a schema.
func newEmptyDatabase(tb testing.TB) string {
	tb.Helper()
	return createDatabase(tb, "")
}

func createDatabase(tb testing.TB, how string) string {
	tb.Helper()
	name := "rh_test_" + strings.ToLower(rand.Text()[:16])
	if err := admin(tb.Context(), "CREATE DATABASE "+name+how); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := admin(context.Background(), "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			tb.Error(err)
		}
	})
	u, err := databaseURL(name)
	if err != nil {
		tb.Fatal(err)
	}
	return u
}

// openAt opens a store and closes it after the test.
func openAt(tb testing.TB, url string, o Options) *Store {
	tb.Helper()
	s, err := Open(tb.Context(), url, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// open opens a store on a database of its own.
func open(tb testing.TB) *Store {
	tb.Helper()
	return openAt(tb, newDatabase(tb), Options{MaxConns: 4})
}
