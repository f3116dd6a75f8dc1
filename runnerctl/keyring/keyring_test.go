package keyring_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/runnerhub/runnerhub/runnerctl/keyring"
)

func wantUnavailable(t *testing.T, err error) {
	t.Helper()
	if _, ok := errors.AsType[*keyring.UnavailableError](err); !ok {
		t.Fatalf("got %v, want an UnavailableError", err)
	}
}

// contract is what every storage does.
func contract(t *testing.T, s keyring.Store) {
	t.Helper()
	if err := keyring.Probe(s); err != nil {
		t.Fatalf("Probe: %v", err)
	}
	if _, err := s.Get("absent"); !errors.Is(err, keyring.ErrNotFound) {
		t.Errorf("Get of an absent name: %v, want ErrNotFound", err)
	}
	if err := s.Delete("absent"); err != nil {
		t.Errorf("Delete of an absent name: %v", err)
	}
	for name, secret := range map[string]string{"runner:default": "rnr_1", "api-key:default": "ak_ü\"\\\n2", "runner:work": strings.Repeat("x", 2000)} {
		if err := s.Set(name, "before"); err != nil {
			t.Fatal(err)
		}
		if err := s.Set(name, secret); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Get(name); err != nil || got != secret {
			t.Errorf("Get(%q) = %.20q, %v; want %.20q", name, got, err, secret)
		}
	}
	if err := s.Delete("runner:default"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get("runner:default"); !errors.Is(err, keyring.ErrNotFound) {
		t.Errorf("Get after Delete: %v, want ErrNotFound", err)
	}
	if got, err := s.Get("runner:work"); err != nil || got == "" {
		t.Errorf("Delete of one name took another: %v", err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := keyring.Probe(s); err != nil {
				t.Errorf("several probes at once: %v", err)
			}
		})
	}
	wg.Wait()
}

func TestFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sub", "credentials.json")
	s := keyring.OpenFile(path)
	contract(t, s)
	if runtime.GOOS == "windows" {
		return // access lists, not modes, guard a profile folder there
	}
	for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		info, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %04o, want %04o", p, got, want)
		}
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || strings.Contains(string(text), "probe") {
		t.Errorf("Probe left something behind: %s, %v", text, err)
	}
	if _, err := s.Get("runner:work"); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that others can read: %v, want a refusal that says how to mend it", err)
	}
}

func TestFileThatIsDamaged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "credentials.json")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := keyring.OpenFile(path)
	if _, err := s.Get("x"); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("Get: %v, want an error that names the file", err)
	}
	if err := s.Set("x", "y"); err == nil {
		t.Error("Set over a damaged file went well, and would have lost what is in it")
	}
}
