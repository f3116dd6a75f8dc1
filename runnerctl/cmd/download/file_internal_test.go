package download

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/runnerhub/runnerhub/mcp"
)

// File systems without links say it in their own ways. A file gets its name there too, and takes no other one's.
func TestPlaceWithoutLinks(t *testing.T) {
	t.Parallel()
	for _, cause := range []syscall.Errno{syscall.EPERM, syscall.ENOTSUP, syscall.EOPNOTSUPP, syscall.ENOSYS} {
		dir := t.TempDir()
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		f := file{root: root, Artifact: mcp.Artifact{Path: "a"}}
		link := func(old, name string) error { return &os.LinkError{Op: "linkat", Old: old, New: name, Err: cause} }
		for i, want := range []error{nil, fs.ErrExist} { // the second one finds the first
			if err := os.WriteFile(filepath.Join(dir, "part"), []byte{byte('0' + i)}, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := f.place("part", link); !errors.Is(err, want) {
				t.Errorf("%v: %v, want %v", cause, err, want)
			}
		}
		if got, err := os.ReadFile(filepath.Join(dir, "a")); err != nil || string(got) != "0" {
			t.Errorf("%v: it has %q, error %v", cause, got, err)
		}
		if s, err := os.Stat(filepath.Join(dir, "a")); err != nil || s.Mode().Perm()&0o100 == 0 {
			t.Errorf("%v: its mode is %v, error %v", cause, s.Mode(), err)
		}
	}
}

// A part that cannot be moved leaves nothing under the file's name.
func TestPlaceThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	f := file{root: root, Artifact: mcp.Artifact{Path: "a"}}
	if err := f.place("gone", root.Link); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "a")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is something: %v", err)
	}
}
