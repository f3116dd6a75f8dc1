package policyfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/runnerctl/policyfile"
)

func save(f *policyfile.File, text string) error {
	return f.Update(func([]byte) ([]byte, error) { return []byte(text), nil })
}

func TestWhatIsSavedIsLoaded(t *testing.T) {
	t.Parallel()
	f := policyfile.In(filepath.Join(t.TempDir(), "not", "there"))
	p, err := f.Load()
	if err != nil || p.GPUs {
		t.Fatalf("without a file: %+v, %v", p, err)
	}
	if err := save(f, "gpus: true\n"); err != nil {
		t.Fatal(err)
	}
	if p, err = f.Load(); err != nil || !p.GPUs {
		t.Errorf("%+v, %v", p, err)
	}
	if again, _ := f.Load(); again != p {
		t.Error("a file that did not change was read again")
	}
	if err := save(f, "gpu: true\n"); !errors.Is(err, policyfile.ErrInvalid) {
		t.Errorf("a file with a mistake was saved: %v", err)
	}
	if err := f.Update(func(before []byte) ([]byte, error) { return append(before, "privileged: true\n"...), nil }); err != nil {
		t.Error(err)
	}
	if text, err := f.Text(); err != nil || string(text) != "gpus: true\nprivileged: true\n" {
		t.Errorf("%q, %v", text, err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(f.Path()), ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestAFileThatChangesIsReadAgain(t *testing.T) {
	t.Parallel()
	f := policyfile.In(t.TempDir())
	write := func(text string, at time.Time) {
		t.Helper()
		if err := os.WriteFile(f.Path(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(f.Path(), at, at); err != nil {
			t.Fatal(err)
		}
	}
	begin := time.Now()
	write("gpus: true", begin)
	if p, err := f.Load(); err != nil || !p.GPUs {
		t.Fatalf("%+v, %v", p, err)
	}
	write("gpus: what", begin.Add(time.Second))
	if _, err := f.Load(); err == nil || !strings.Contains(err.Error(), f.Path()+" is not valid: line 1, column 7: gpus") {
		t.Errorf("a mistake: %v", err)
	}
	if err := os.Remove(f.Path()); err != nil {
		t.Fatal(err)
	}
	if p, err := f.Load(); err != nil || p.GPUs {
		t.Errorf("a file that is gone: %+v, %v", p, err)
	}
}
