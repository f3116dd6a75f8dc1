package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/migrations"
)

// refused wants Open to fail and to leave the file as it was.
func refused(t *testing.T, path string, code hub.Code, words ...string) *hub.Error {
	t.Helper()
	before, _ := os.ReadFile(path)
	_, err := Open(t.Context(), path, Options{})
	e := wantError(t, err, code, words...)
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("the file was changed")
	}
	l, err := lockFile(path) // and gave the lock back
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Unlock(); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestForeignFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, bytes.Repeat([]byte("dear diary\n"), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, text, hub.Conflict, "is not a database", text)

	other := filepath.Join(dir, "other.db")
	db, err := sql.Open("sqlite", other)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`CREATE TABLE notes (n TEXT)`); err != nil {
		t.Fatal(err)
	}
	refused(t, other, hub.Conflict, "another program", other)
	if _, err := db.Exec(`PRAGMA application_id = 42`); err != nil {
		t.Fatal(err)
	}
	refused(t, other, hub.Conflict, "another program")
}

func TestDamagedFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hub.db")
	if err := open(t, path, Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(bytes.Repeat([]byte{0xa5}, 3000), 100); err != nil { // all behind the header of the first page
		t.Fatal(err)
	}
	e := refused(t, path, hub.Unavailable)
	if e.Retryable || !strings.Contains(e.Hint, "damaged") {
		t.Errorf("got %+v", e)
	}
}

func TestNewerSchema(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hub.db")
	if err := open(t, path, Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	db, err := OpenDB(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9000, 1);
		UPDATE meta SET value = '9000' WHERE key = 'needs_version'`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	e := refused(t, path, hub.Conflict, "newer version", path)
	if newer, ok := errors.AsType[*migrations.NewerError](e); !ok || newer.Current != 9000 {
		t.Errorf("the cause is %v", e.Err)
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	refused := func(path string, words ...string) {
		t.Helper()
		_, err := Open(t.Context(), path, Options{})
		wantError(t, err, hub.Unavailable, words...)
	}
	refused(dir, dir)
	refused(filepath.Join(dir, "missing", "hub.db"), "missing")

	odd := filepath.Join(dir, "a b%20?c=d&e#größe'\".db")
	s := open(t, odd, Options{})
	id, err := s.HubID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(odd); err != nil {
		t.Fatal(err)
	}
	if again, err := open(t, odd, Options{}).HubID(t.Context()); err != nil || again != id {
		t.Fatalf("hub id %q, then %q, %v", id, again, err)
	}
}

func TestOpenCanceled(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hub.db")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, path, Options{}); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	open(t, path, Options{})
}

// What makes a write durable and a reader harmless is set on every connection.
func TestPragmas(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "hub.db"), Options{})
	for pragma, want := range map[string]string{
		"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "5000",
	} {
		var w, r string
		err := s.write(t.Context(), "test", func(t *tx) error { return t.row("PRAGMA " + pragma).Scan(&w) })
		err = errors.Join(err, s.read(t.Context(), "test", "pragma", "PRAGMA "+pragma, nil, &r))
		if err != nil || w != want || r != want {
			t.Errorf("%s is %q for the writer and %q for readers, want %q, %v", pragma, w, r, want, err)
		}
	}
	if _, err := s.reader.db.Exec(`DELETE FROM meta`); err == nil {
		t.Error("a reader can write")
	}
}

func TestOpenAtOnce(t *testing.T) {
	t.Parallel()
	for range 20 {
		path := filepath.Join(t.TempDir(), "hub.db")
		var g errgroup.Group
		for range 8 {
			g.Go(func() error {
				db, err := OpenDB(t.Context(), path)
				if err != nil {
					return err
				}
				return db.Close()
			})
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
	}
}
