package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/storetest"
	"github.com/runnerhub/runnerhub/migrations"
)

// wantError wants a typed error with words in its message and a hint.
func wantError(t *testing.T, err error, code hub.Code, words ...string) *hub.Error {
	t.Helper()
	e, ok := err.(*hub.Error) //nolint:errorlint // it must be the outermost, for its hint to be seen
	if !ok || e.Code != code {
		t.Fatalf("got %T %v, want code %s", err, err, code)
	}
	for _, w := range words {
		if !strings.Contains(e.Message, w) {
			t.Errorf("%q does not say %q", e.Message, w)
		}
	}
	if e.Hint == "" {
		t.Errorf("%q has no hint", e.Message)
	}
	return e
}

func TestOneHubHoldsAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hub.db")
	c := startChild(t, taskHold, path)
	_, err := Open(t.Context(), path, Options{})
	e := wantError(t, err, hub.Conflict, path, fmt.Sprintf("process %d", c.cmd.Process.Pid))
	if !strings.Contains(e.Hint, path+".lock") {
		t.Errorf("the hint %q does not name the lock", e.Hint)
	}
	c.kill()
	s := open(t, path, Options{}) // the lock went with its holder
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), path, Options{}) // this process is a hub too
	wantError(t, err, hub.Conflict, fmt.Sprintf("process %d", os.Getpid()))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, path, Options{})
}

func TestOneFileHasOneLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "hub.db")
	open(t, path, Options{})
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{link, filepath.Join(dir, ".", "..", filepath.Base(dir), "hub.db")} {
		_, err := Open(t.Context(), name, Options{})
		wantError(t, err, hub.Conflict, "in use")
	}
}

func TestOperatorsWorkBesideAHub(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hub.db")
	first := open(t, path, Options{Shared: true}) // makes and migrates it when there is no hub
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	served := open(t, path, Options{})
	operator := open(t, path, Options{Shared: true})
	u := storetest.NewUser()
	if err := operator.CreateUser(t.Context(), u, storetest.NewEvent(hub.ActUserCreated)); err != nil {
		t.Fatal(err)
	}
	if _, err := served.GetUser(t.Context(), u.ID); err != nil {
		t.Fatal(err)
	}
}

// A newer operator's command must not change the schema under an older hub.
func TestOperatorsDoNotMigrateUnderAHub(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hub.db")
	s := open(t, path, Options{})
	db, err := OpenDB(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`DELETE FROM goose_db_version WHERE version_id = (SELECT max(version_id) FROM goose_db_version)`); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), path, Options{Shared: true})
	wantError(t, err, hub.Conflict, "in use")
	wantError(t, s.Ping(t.Context()), hub.Unavailable, "schema")
	if v, err := migrations.Current(t.Context(), migrations.SQLite, db); err != nil || v != migrations.Latest(migrations.SQLite)-1 {
		t.Errorf("version %d, %v", v, err)
	}
}
