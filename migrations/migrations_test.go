package migrations

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "github.com/jackc/pgx/v5/stdlib"
	"golang.org/x/sync/errgroup"
	_ "modernc.org/sqlite"
)

// each runs a test on both dialects, each time with a database of its own.
// connect opens one more pool on that database.
func each(t *testing.T, f func(t *testing.T, d Dialect, connect func() *sql.DB)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "hub.db")
		connect := func() *sql.DB { return open(t, "sqlite", "file:"+file+"?_pragma=busy_timeout(10000)") }
		// The store's part, once: SQLite does not wait for others while it changes a file's journal mode.
		if _, err := connect().Exec(`PRAGMA journal_mode = wal`); err != nil {
			t.Fatal(err)
		}
		f(t, SQLite, connect)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		u := freshPostgres(t)
		f(t, Postgres, func() *sql.DB { return open(t, "pgx", u) })
	})
}

func open(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func freshPostgres(t *testing.T) string {
	t.Helper()
	base := os.Getenv("RUNNERHUB_TEST_POSTGRES_URL")
	if base == "" {
		t.Fatal("RUNNERHUB_TEST_POSTGRES_URL is not set; `make test` starts a PostgreSQL and sets it")
	}
	name := "migrations_" + strings.ToLower(rand.Text())
	admin := open(t, "pgx", base)
	if _, err := admin.Exec("CREATE DATABASE " + name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := admin.Exec("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}

func current(t *testing.T, d Dialect, db *sql.DB) int64 {
	t.Helper()
	v, err := Current(t.Context(), d, db)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func hubID(t *testing.T, db *sql.DB) string {
	t.Helper()
	var id string
	if err := db.QueryRow(`SELECT value FROM meta WHERE key = 'hub_id'`).Scan(&id); err != nil {
		t.Fatal(err)
	}
	return id
}

func TestUpOnAFreshDatabase(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d Dialect, connect func() *sql.DB) {
		t.Helper()
		ctx, db := t.Context(), connect()
		if v := current(t, d, db); v != 0 {
			t.Fatalf("a fresh database has version %d", v)
		}
		all, err := Status(ctx, d, db)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range all {
			if !m.AppliedAt.IsZero() {
				t.Errorf("%s is applied to a fresh database", m.Name)
			}
		}
		if v := current(t, d, db); v != 0 {
			t.Fatalf("looking at the status wrote version %d", v)
		}
		if err := Up(ctx, d, db); err != nil {
			t.Fatal(err)
		}
		if v := current(t, d, db); v != Latest(d) {
			t.Fatalf("got version %d, want %d", v, Latest(d))
		}
		if all, err = Status(ctx, d, db); err != nil {
			t.Fatal(err)
		}
		for _, m := range all {
			if m.AppliedAt.IsZero() {
				t.Errorf("%s is not applied", m.Name)
			}
		}
		id := hubID(t, db)
		if !regexp.MustCompile(`^hub_[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(id) {
			t.Errorf("hub id %q is no UUID", id)
		}
		if err := Up(ctx, d, db); err != nil {
			t.Fatalf("a second time: %v", err)
		}
		if again := hubID(t, db); again != id {
			t.Errorf("the hub id changed from %s to %s", id, again)
		}
	})
}

func TestUpAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d Dialect, connect func() *sql.DB) {
		t.Helper()
		var g errgroup.Group
		for range 4 {
			db := connect()
			g.Go(func() error { return Up(t.Context(), d, db) })
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		db := connect()
		if v := current(t, d, db); v != Latest(d) {
			t.Fatalf("got version %d, want %d", v, Latest(d))
		}
		var n int
		if err := db.QueryRow(`SELECT count(*) FROM goose_db_version WHERE version_id > 0`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n != len(sources(d)) {
			t.Errorf("%d migrations were recorded, want each of %d once", n, len(sources(d)))
		}
	})
}

func TestUpDownUp(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d Dialect, connect func() *sql.DB) {
		t.Helper()
		ctx, db := t.Context(), connect()
		if err := Up(ctx, d, db); err != nil {
			t.Fatal(err)
		}
		before := schema(t, d, db)
		// One step back and forth at a time, then all the way.
		for v := Latest(d); v > 0; v-- {
			if err := Down(ctx, d, db, v-1); err != nil {
				t.Fatalf("down to %d: %v", v-1, err)
			}
		}
		if left := schema(t, d, db); len(left) > 0 {
			t.Errorf("down left behind: %q", left)
		}
		if err := Up(ctx, d, db); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, schema(t, d, db)); diff != "" {
			t.Errorf("up–down–up (-first +second):\n%s", diff)
		}
	})
}

// schema names everything that migrations made.
func schema(t *testing.T, d Dialect, db *sql.DB) []string {
	t.Helper()
	q := `SELECT type || ' ' || name FROM sqlite_master
		WHERE name NOT LIKE 'sqlite%' AND name NOT LIKE 'goose%' ORDER BY 1`
	if d == Postgres {
		q = `SELECT relkind::text || ' ' || relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relname NOT LIKE 'goose%'
			UNION ALL SELECT 'f ' || proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY 1`
	}
	rows, err := db.Query(q)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// What a later version has only added to is served. What it has taken from is not.
func TestNewerSchema(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d Dialect, connect func() *sql.DB) {
		t.Helper()
		ctx, db := t.Context(), connect()
		if err := Up(ctx, d, db); err != nil {
			t.Fatal(err)
		}
		exec := func(sql string) {
			t.Helper()
			if _, err := db.Exec(sql); err != nil {
				t.Fatal(err)
			}
		}
		exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9000, true)`)
		if err := Up(ctx, d, db); err != nil {
			t.Errorf("a schema that was added to: %v", err)
		}
		if v := current(t, d, db); v != 9000 {
			t.Errorf("an older program has made version %d of it", v)
		}
		for _, taken := range []string{
			`UPDATE meta SET value = '8999' WHERE key = 'needs_version'`,
			`UPDATE meta SET value = 'what' WHERE key = 'needs_version'`,
			`DELETE FROM meta WHERE key = 'needs_version'`, // of a time when there was no such promise
		} {
			exec(taken)
			var newer *NewerError
			if err := Up(ctx, d, db); !errors.As(err, &newer) || newer.Current != 9000 || newer.Latest != Latest(d) {
				t.Errorf("after %s: got %v", taken, err)
			}
		}
	})
}

// takesAway finds what a program of the version before may stumble over.
var takesAway = regexp.MustCompile(`(?i)\b(DROP\s+(TABLE|COLUMN|VIEW|FUNCTION|DEFAULT)|RENAME|SET\s+NOT\s+NULL|ALTER\s+COLUMN\s+\w+\s+(SET\s+DATA\s+)?TYPE|ADD\s+CONSTRAINT|DELETE\s+FROM)\b`)

// Hubs of the version before serve on a schema that was migrated under them, unless the migration says that they cannot.
func TestMigrationsThatTakeAwaySaySo(t *testing.T) {
	t.Parallel()
	for _, d := range []Dialect{SQLite, Postgres} {
		for _, m := range sources(d) {
			text, err := files.ReadFile(string(d) + "/" + m.Name + ".sql")
			if err != nil {
				t.Fatal(err)
			}
			up, _, _ := strings.Cut(string(text), "-- +goose Down")
			if found := takesAway.FindString(up); found != "" && !strings.Contains(up, "'needs_version'") {
				t.Errorf("%s/%s: a migration with %s raises needs_version in meta, since programs before it cannot work on what it leaves", d, m.Name, found)
			}
		}
	}
}

func TestCanceledUpChangesNothingHalf(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d Dialect, connect func() *sql.DB) {
		t.Helper()
		db := connect()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := Up(ctx, d, db); err == nil {
			t.Fatal("no error")
		}
		if err := Up(t.Context(), d, db); err != nil {
			t.Fatal(err)
		}
	})
}

// Both dialects have the same files, numbered without a gap, so that a version
// means the same to both.
func TestFilesAreNumbered(t *testing.T) {
	t.Parallel()
	names := func(d Dialect) []string {
		m, err := fs.Glob(files, string(d)+"/*.sql")
		if err != nil {
			t.Fatal(err)
		}
		for i := range m {
			m[i] = filepath.Base(m[i])
		}
		return m
	}
	if diff := cmp.Diff(names(SQLite), names(Postgres)); diff != "" {
		t.Errorf("the dialects differ (-sqlite +postgres):\n%s", diff)
	}
	for i, m := range sources(SQLite) {
		if m.Version != int64(i+1) {
			t.Errorf("file %d is %s", i+1, m.Name)
		}
	}
}
