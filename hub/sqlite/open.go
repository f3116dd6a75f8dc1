package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	_ "modernc.org/sqlite" // the driver

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/migrations"
)

// applicationID stands in the header of our files ("RHub"), so that another
// program's database is never taken for ours.
const applicationID = 0x52487562

// Options are the knobs of a Store. The zero value is what a hub runs with.
type Options struct {
	// Shared opens the store beside a hub that may hold it, for an operator's command.
	// It still migrates, but not under a running hub.
	Shared bool
	// Readers is how many connections read at the same time; 4.
	Readers int
	// BusyTimeout is how long a write waits for another process; 5 s.
	BusyTimeout time.Duration

	maxPages int    // a full disk, for tests
	driver   string // the name of another driver, for tests
	maxGroup int    // writes in one transaction, maxGroup unless a test says otherwise
}

func (o Options) withDefaults() Options {
	if o.Readers <= 0 {
		o.Readers = 4
	}
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = 5 * time.Second
	}
	if o.maxGroup <= 0 {
		o.maxGroup = maxGroup
	}
	return o
}

// Open opens the store in the file at path, makes it when there is none, and
// brings its schema up to date. The folder must be there. ctx bounds opening alone.
func Open(ctx context.Context, path string, opts Options) (*Store, error) {
	opts = opts.withDefaults()
	path, err := resolve(path)
	if err != nil {
		return nil, err
	}
	s := &Store{path: path}
	s.closed, s.close = context.WithCancel(context.Background())
	if !opts.Shared {
		if s.lock, err = lockFile(path); err != nil {
			return nil, err
		}
	}
	if err = create(path); err == nil {
		s.writer, err = openWriter(ctx, path, opts)
	}
	if err != nil {
		_ = s.lock.Unlock() // what went wrong first is what to tell
		return nil, s.failure(ctx, "open", err)
	}
	s.reader = newReader(connect(path, opts, "query_only(1)"), opts.Readers)
	return s, nil
}

// OpenDB opens the file as a plain pool of connections, for looking at its
// migrations. It makes the file when there is none, migrates nothing and takes no lock.
func OpenDB(ctx context.Context, path string) (*sql.DB, error) {
	path, err := resolve(path)
	if err != nil {
		return nil, err
	}
	if err := create(path); err != nil {
		return nil, err
	}
	opts := Options{}.withDefaults()
	db := connect(path, opts)
	if err := adoptSoon(ctx, path, db, opts.BusyTimeout); err != nil {
		_ = db.Close() // what went wrong first is what to tell
		return nil, (&Store{path: path}).failure(ctx, "open", err)
	}
	return db, nil
}

// resolve makes one name of all that a file has, so that it has one lock.
func resolve(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("sqlite: %w", err)
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if err != nil {
		return "", openError(abs, err, "make the folder first, or name another one with --data or --database")
	}
	abs = filepath.Join(dir, filepath.Base(abs))
	switch target, err := filepath.EvalSymlinks(abs); {
	case err == nil:
		abs = target
	case !errors.Is(err, fs.ErrNotExist):
		return "", openError(abs, err, "see who may use the file and its folder")
	}
	if info, err := os.Stat(abs); err == nil && !info.Mode().IsRegular() {
		return "", openError(abs, nil, "it is not a regular file; name the file of the store, not its folder")
	}
	return abs, nil
}

func openError(path string, err error, hint string) *hub.Error {
	return &hub.Error{Code: hub.Unavailable, Message: "the store " + path + " cannot be opened", Hint: hint, Err: err}
}

// create makes a file that its owner alone may read; SQLite makes those beside it alike.
func create(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return openError(path, err, "the hub must be able to make files in the folder; see who owns it")
	}
	return f.Close()
}

// openWriter makes the one writing connection, on a file that is ours and up to date.
func openWriter(ctx context.Context, path string, opts Options) (*writer, error) {
	db := connect(path, opts)
	db.SetMaxOpenConns(1)
	err := adoptSoon(ctx, path, db, opts.BusyTimeout)
	if err == nil {
		err = migrate(ctx, path, db, opts)
	}
	var conn *sql.Conn
	if err == nil {
		conn, err = db.Conn(ctx)
	}
	if err != nil {
		_ = db.Close() // what went wrong first is what to tell
		return nil, err
	}
	return newWriter(db, conn, opts.maxGroup), nil
}

// adoptSoon adopts a file and tries again for a while when it is busy: SQLite does not wait for others by itself
// where it changes the journal mode, and fails at once there beside somebody who opens or closes the same file.
func adoptSoon(ctx context.Context, path string, db *sql.DB, wait time.Duration) error {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 2*time.Millisecond, 100*time.Millisecond
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := adopt(ctx, path, db)
		if err != nil && !busy(err) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(pause), backoff.WithMaxElapsedTime(wait))
	return err
}

// adopt refuses a file that is not ours before it writes the first byte.
func adopt(ctx context.Context, path string, db *sql.DB) error {
	var id, tables int
	if err := db.QueryRowContext(ctx, `PRAGMA application_id`).Scan(&id); err != nil {
		return err
	}
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_master`).Scan(&tables); err != nil {
		return err
	}
	switch {
	case id == applicationID:
	case id == 0 && tables == 0:
		if _, err := db.ExecContext(ctx, `PRAGMA application_id = `+strconv.Itoa(applicationID)); err != nil {
			return err
		}
	default:
		return hub.Errorf(hub.Conflict, "%s is a database of another program", path).
			WithHint("name another file with --database sqlite://PATH; nothing was changed in this one")
	}
	var mode string
	if err := db.QueryRowContext(ctx, `PRAGMA journal_mode = wal`).Scan(&mode); err != nil {
		return err
	}
	if mode != "wal" {
		return openError(path, fmt.Errorf("the journal mode is %q", mode), "put the store on a local disk")
	}
	return nil
}

func migrate(ctx context.Context, path string, db *sql.DB, opts Options) error {
	current, err := migrations.Current(ctx, migrations.SQLite, db)
	if err != nil {
		return err
	}
	if opts.Shared && current < migrations.Latest(migrations.SQLite) {
		l, err := lockFile(path)
		if err != nil {
			return err
		}
		return errors.Join(migrations.Up(ctx, migrations.SQLite, db), l.Unlock())
	}
	return migrations.Up(ctx, migrations.SQLite, db)
}

// connect makes a pool; it opens nothing yet. What does not last in the file is set for each connection.
func connect(path string, opts Options, pragmas ...string) *sql.DB {
	pragmas = append(pragmas,
		"busy_timeout("+strconv.FormatInt(opts.BusyTimeout.Milliseconds(), 10)+")",
		"foreign_keys(1)",
		"synchronous(full)",
		"temp_store(memory)",
		"journal_size_limit(67108864)", // bytes of write-ahead log that stay on disk after a peak
	)
	if opts.maxPages > 0 {
		pragmas = append(pragmas, "max_page_count("+strconv.Itoa(opts.maxPages)+")")
	}
	// A transaction takes the write lock at its start, or it might fail half way.
	dsn := fileURI(path) + "?_txlock=immediate&_error_rc=1&_dqs=0&_pragma=" + strings.Join(pragmas, "&_pragma=")
	db, err := sql.Open(cmp.Or(opts.driver, "sqlite"), dsn)
	if err != nil {
		panic(err) // the driver is not linked in
	}
	return db
}

// fileURI names a file whatever is in its name, as https://www.sqlite.org/uri.html asks for.
func fileURI(path string) string {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") { // C:/…
		p = "/" + p
	}
	return "file:" + (&url.URL{Path: p}).EscapedPath()
}
