package servertest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/hub/postgres"
)

// Database makes an empty PostgreSQL database that goes with the test, and returns its URL.
func Database(t testing.TB) string {
	t.Helper()
	at, drop, err := NewDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := drop(context.Background()); err != nil {
			t.Errorf("drop the test's database: %v", err)
		}
	})
	return at
}

// NewDatabase is Database where there is no testing.TB. The caller calls drop once no hub uses the database any more.
func NewDatabase(ctx context.Context) (at string, drop func(context.Context) error, err error) {
	server := os.Getenv("RUNNERHUB_TEST_POSTGRES_URL")
	if server == "" {
		return "", nil, errors.New("RUNNERHUB_TEST_POSTGRES_URL is not set; bring a server with: " +
			"eval \"$(.ci/lib/ensure-postgres.sh)\" (or `make test`, which does)")
	}
	u, err := url.Parse(server)
	if err != nil {
		return "", nil, fmt.Errorf("RUNNERHUB_TEST_POSTGRES_URL: %w", err)
	}
	admin := func(ctx context.Context, sql string) error {
		db, err := postgres.OpenDB(ctx, server)
		if err != nil {
			return err
		}
		_, err = db.ExecContext(ctx, sql)
		return errors.Join(err, db.Close())
	}
	name := "hub_" + strings.ToLower(rand.Text())
	if err := admin(ctx, "CREATE DATABASE "+name); err != nil {
		return "", nil, err
	}
	u.Path = "/" + name
	return u.String(), func(ctx context.Context) error { return admin(ctx, "DROP DATABASE "+name+" WITH (FORCE)") }, nil
}
