package cmdutil_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
)

func TestBlocked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, err := range []error{
		os.MkdirAll(filepath.Join(dir, "deep", "down"), 0o700),
		os.WriteFile(filepath.Join(dir, "deep", "file"), nil, 0o600),
		os.Symlink(t.TempDir(), filepath.Join(dir, "out")),
		os.Symlink("nowhere", filepath.Join(dir, "deep", "dangling")),
		os.Symlink("deep", filepath.Join(dir, "inside")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	long := strings.Repeat("n", 300)
	for name, want := range map[string]string{
		"out/a":              "out/a cannot be written: out is a symbolic link, which leads to no folder or out of this one",
		"deep/dangling/a":    "deep/dangling/a cannot be written: deep/dangling is a symbolic link, which leads to no folder or out of this one",
		"deep/file/a":        "deep/file/a cannot be written: deep/file is a file and no folder",
		"inside/file/a/b":    "inside/file/a/b cannot be written: inside/file is a file and no folder",
		"deep/" + long:       "deep/" + long + " cannot be written: file name too long",
		"inside/down/absent": "inside/down/absent cannot be written: no such file or directory",
	} {
		_, err := root.Open(name)
		if err == nil {
			t.Errorf("%s can be opened", name)
			continue
		}
		err = cmdutil.Blocked(root, name, err)
		if got := cmdutil.Message(err); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		if _, hinted := errors.AsType[*mcp.Error](err); hinted != strings.Contains(want, " is a ") {
			t.Errorf("%s: %#v", name, err)
		}
	}
	other := errors.New("the archive is broken")
	if got := cmdutil.Blocked(root, "a", other); !errors.Is(got, other) || got.Error() != other.Error() {
		t.Errorf("an error of no file became %v", got)
	}
}
