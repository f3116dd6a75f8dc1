package archive_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/runnerhub/runnerhub/runnerctl/archive"
)

func TestUnreadable(t *testing.T) {
	t.Parallel()
	const ignore = "Make it readable, or leave it out: .runnerhubignore can name it."
	for want, err := range map[archive.Error]error{
		{`"a/b" cannot be read: permission denied`, ignore}:                                                     &fs.PathError{Op: "readlinkat", Path: "a/b", Err: syscall.EACCES},
		{`"a/b" cannot be read: input/output error`, ignore}:                                                    &fs.PathError{Op: "read", Path: "/srv/tree/a/b", Err: syscall.EIO},
		{`"a/b" cannot be read: it is odd`, ignore}:                                                             errors.New("it is odd"),
		{`"a/b" has vanished since the tree was looked through`, "Pack again when nothing writes to the tree."}: &fs.PathError{Op: "statat", Path: "a/b", Err: syscall.ENOENT},
	} {
		got, ok := errors.AsType[*archive.Error](archive.Unreadable("a/b", err))
		if !ok || *got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// What is gone when its turn comes is named.
func TestPackOfWhatVanished(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "here"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	err = archive.Pack(t.Context(), io.Discard, root, []string{"here", "gone"}, nil)
	if bad, ok := errors.AsType[*archive.Error](err); !ok || bad.Message != `"gone" has vanished since the tree was looked through` || bad.Hint == "" {
		t.Errorf("%v", err)
	}
}
