//go:build unix

package policyfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/runnerctl/policyfile"
)

func TestAFileThatOthersMayWriteIsNobodysWord(t *testing.T) {
	t.Parallel()
	f := policyfile.In(t.TempDir())
	if err := save(f, "gpus: true"); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(f.Path(), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Load(); err == nil || !strings.Contains(err.Error(), "chmod go-w") {
		t.Errorf("%v", err)
	}
}

func TestSaveFollowsALink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := policyfile.In(filepath.Join(dir, "config"))
	target := filepath.Join(dir, "dotfiles.yaml")
	for _, err := range []error{
		os.Mkdir(filepath.Join(dir, "config"), 0o700), os.WriteFile(target, nil, 0o600), os.Symlink(target, f.Path()),
		save(f, "gpus: true"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(target); err != nil || string(text) != "gpus: true" {
		t.Errorf("%q, %v", text, err)
	}
	if info, err := os.Lstat(f.Path()); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
}
