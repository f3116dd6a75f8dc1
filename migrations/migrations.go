// Package migrations holds the schema of both stores as numbered SQL and brings
// a database to it. It knows nothing of the rest of the project and opens no connection itself.
package migrations

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
	"github.com/pressly/goose/v3/lock"
)

// Dialect is the SQL that a database speaks.
type Dialect string

// The dialects. Each is the name of a folder here.
const (
	SQLite   Dialect = "sqlite"
	Postgres Dialect = "postgres"
)

//go:embed sqlite/*.sql postgres/*.sql
var files embed.FS

// table is goose's own default, so that its command line works on a store too.
const table = "goose_db_version"

// NewerError says that a database was written by a later version of the program, and
// that this one cannot work on it.
type NewerError struct {
	Current int64 // the schema's version
	Latest  int64 // the latest that this program knows
}

// Error implements error.
func (e *NewerError) Error() string {
	return fmt.Sprintf("the schema has version %d and this program knows versions up to %d only", e.Current, e.Latest)
}

// Migration is one numbered file and whether the database has it.
type Migration struct {
	Version   int64
	Name      string    // of the file
	AppliedAt time.Time // zero: pending
}

// Up applies what is missing, and answers a *NewerError for a schema that this program is too old for. A newer
// one that it can work on stays as it is. Any number of hubs may call it at the same time: on PostgreSQL they
// take turns by an advisory lock, on SQLite by the file's write lock.
func Up(ctx context.Context, d Dialect, db *sql.DB) error {
	if err := Check(ctx, d, db); err != nil {
		return err
	}
	if current, err := Current(ctx, d, db); err != nil || current > Latest(d) {
		return err
	}
	p, err := provider(d, db)
	if err != nil {
		return err
	}
	for {
		before, err := Current(ctx, d, db)
		if err != nil {
			return err
		}
		_, upErr := p.Up(ctx)
		if upErr == nil {
			return nil
		}
		// Without a session lock (SQLite) somebody else may have applied the same file in between. Files
		// are applied whole or not at all, so whoever lost that race just goes on from where the winner is.
		after, err := Current(ctx, d, db)
		if d != SQLite || err != nil || after <= before {
			return fmt.Errorf("migrations: %w", upErr)
		}
	}
}

// Down takes back everything above a version; 0 leaves nothing, data included.
func Down(ctx context.Context, d Dialect, db *sql.DB, to int64) error {
	p, err := provider(d, db)
	if err != nil {
		return err
	}
	if _, err := p.DownTo(ctx, to); err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	return nil
}

// NeedsVersion selects the oldest schema that a program must know to work on a database's schema, as text: the
// mark that a migration raises when it takes away what programs before it use.
const NeedsVersion = `SELECT value FROM meta WHERE key = 'needs_version'`

// Check answers a *NewerError when the schema is newer than this program and no longer has all that it uses.
// During a rolling upgrade hubs of the version before start and serve on what the newer one has added to. It
// writes nothing.
func Check(ctx context.Context, d Dialect, db *sql.DB) error {
	current, err := Current(ctx, d, db)
	if err != nil {
		return err
	}
	latest := Latest(d)
	if current <= latest {
		return nil
	}
	var needs string
	err = db.QueryRowContext(ctx, NeedsVersion).Scan(&needs)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("migrations: read what the schema needs: %w", err)
	}
	if v, err := strconv.ParseInt(needs, 10, 64); err == nil && v <= latest {
		return nil
	}
	return &NewerError{Current: current, Latest: latest}
}

// Current is the version of the database's schema, 0 for a fresh one. It writes nothing.
func Current(ctx context.Context, d Dialect, db *sql.DB) (int64, error) {
	exists := `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = '` + table + `'`
	if d == Postgres {
		exists = `SELECT count(to_regclass('` + table + `'))`
	}
	var n int
	if err := db.QueryRowContext(ctx, exists).Scan(&n); err != nil {
		return 0, fmt.Errorf("migrations: look for the schema's version: %w", err)
	}
	if n == 0 {
		return 0, nil
	}
	s, err := versions(d)
	if err != nil {
		return 0, err
	}
	v, err := s.GetLatestVersion(ctx, db)
	if err != nil && !errors.Is(err, database.ErrVersionNotFound) {
		return 0, fmt.Errorf("migrations: read the schema's version: %w", err)
	}
	return v, nil
}

// Latest is the version that Up brings a database to.
func Latest(d Dialect) int64 {
	all := sources(d)
	return all[len(all)-1].Version
}

// Status lists all migrations in order, with what the database has of them. It writes nothing.
func Status(ctx context.Context, d Dialect, db *sql.DB) ([]Migration, error) {
	all := sources(d)
	current, err := Current(ctx, d, db)
	if err != nil || current == 0 {
		return all, err
	}
	s, err := versions(d)
	if err != nil {
		return nil, err
	}
	for i := range all {
		m, err := s.GetMigration(ctx, db, all[i].Version)
		switch {
		case errors.Is(err, database.ErrVersionNotFound):
		case err != nil:
			return nil, fmt.Errorf("migrations: read the state of %s: %w", all[i].Name, err)
		case m.IsApplied:
			all[i].AppliedAt = m.Timestamp.UTC()
		}
	}
	return all, nil
}

// sources lists the embedded files. Their names are checked by a test, so what is wrong with one is a bug.
func sources(d Dialect) []Migration {
	entries, err := files.ReadDir(string(d))
	if err != nil {
		panic(fmt.Sprintf("migrations: no dialect %q", d))
	}
	out := make([]Migration, 0, len(entries))
	for _, e := range entries { // sorted by name, and so by number
		v, err := goose.NumericComponent(e.Name())
		if err != nil {
			panic(fmt.Sprintf("migrations: %s: %v", path.Join(string(d), e.Name()), err))
		}
		out = append(out, Migration{Version: v, Name: strings.TrimSuffix(e.Name(), ".sql")})
	}
	return out
}

func gooseDialect(d Dialect) database.Dialect {
	if d == Postgres {
		return database.DialectPostgres
	}
	return database.DialectSQLite3
}

func versions(d Dialect) (database.Store, error) {
	return database.NewStore(gooseDialect(d), table)
}

func provider(d Dialect, db *sql.DB) (*goose.Provider, error) {
	sub, err := fs.Sub(files, string(d))
	if err != nil {
		return nil, err
	}
	opts := []goose.ProviderOption{goose.WithDisableGlobalRegistry(true)}
	if d == Postgres {
		// Looks every second, for ten minutes: another hub may be rewriting a large table.
		l, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 600))
		if err != nil {
			return nil, err
		}
		opts = append(opts, goose.WithSessionLocker(l))
	}
	p, err := goose.NewProvider(gooseDialect(d), db, sub, opts...)
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	return p, nil
}
