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
func newDatabase(t testing.TB) string {
	t.Helper()
	from, err := templateName(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return createDatabase(t, " TEMPLATE "+from)
}

// newEmptyDatabase makes a database without a schema.
func newEmptyDatabase(t testing.TB) string {
	t.Helper()
	return createDatabase(t, "")
}

func createDatabase(t testing.TB, how string) string {
	t.Helper()
	name := "rh_test_" + strings.ToLower(rand.Text()[:16])
	if err := admin(t.Context(), "CREATE DATABASE "+name+how); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := admin(context.Background(), "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	u, err := databaseURL(name)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// openAt opens a store and closes it after the test.
func openAt(t testing.TB, url string, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// open opens a store on a database of its own.
func open(t testing.TB) *Store {
	t.Helper()
	return openAt(t, newDatabase(t), Options{MaxConns: 4})
}
