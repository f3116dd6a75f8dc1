package sqlite

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/runnerhub/runnerhub/hub"
)

// nobody runs f with the rights on files that nobody has. It ends the thread
// that it runs on, so that nothing else runs with them.
func nobody(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked
		_ = unix.Setfsuid(65534)
		f()
	}()
	<-done
}

func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hub.db")
	s := open(t, path, Options{})
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{"", "-wal", "-shm", ".lock"} {
		info, err := os.Stat(path + end)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", info.Name(), info.Mode())
		}
	}
}

func TestReadOnlyFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "hub.db")
	if err := open(t, path, Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	fresh := filepath.Join(dir, "fresh.db")
	for _, p := range []string{dir, filepath.Dir(dir)} { // the way there is open to nobody
		if err := os.Chmod(p, 0o555); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		os.Chmod(filepath.Dir(dir), 0o755)
		os.Chmod(dir, 0o755)
	})
	for _, opts := range []Options{{}, {Shared: true}} {
		for _, name := range []string{path, fresh} {
			var err error
			nobody(func() { _, err = Open(t.Context(), name, opts) })
			e := wantError(t, err, hub.Unavailable)
			if e.Retryable {
				t.Errorf("%s, %+v: trying again would not help", name, opts)
			}
		}
	}
	if _, err := os.Stat(fresh); err == nil {
		t.Error("a file was made")
	}
}
