package runnerctl_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/runnerhub/runnerhub/hub/server/servertest"
	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
)

// signedIn is a machine whose person has signed in, with the key in the keyring.
func signedIn(t *testing.T) (*machine, *servertest.Hub) {
	t.Helper()
	h := servertest.Start(t, quick)
	m := newMachine(t)
	if r := m.with(h.AdminKey(t)+"\n", "login", "--hub", h.URL+"/"); r.code != 0 || !strings.Contains(r.stdout, "as admin. The key is in the test's keyring") {
		t.Fatalf("login: %+v", r)
	}
	return m, h
}

// thief is a server that remembers what Authorization it got.
func thief(t *testing.T) (url string, stolen func() []string) {
	t.Helper()
	var mu sync.Mutex
	var all []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if got := r.Header.Get("Authorization"); got != "" {
			all = append(all, got)
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []string { mu.Lock(); defer mu.Unlock(); return all }
}

func TestAStoredKeyGoesToItsOwnHubAlone(t *testing.T) {
	t.Parallel()
	m, h := signedIn(t)
	m.with(h.AdminKey(t), "pair", "--api-key-stdin", "--label", "box")
	other, stolen := thief(t)

	m.env[cmdutil.EnvHub] = other
	if r := m.run("jobs"); r.code != mcp.ExitAuth || !strings.Contains(r.stderr, cmdutil.EnvHub) || !strings.Contains(r.stderr, "hint: ") {
		t.Errorf("with another hub in the environment: %+v", r)
	}
	m.env[cmdutil.EnvHub] = strings.ToUpper(h.URL[:4]) + h.URL[4:] + "/"
	if r := m.run("jobs"); r.code != 0 {
		t.Errorf("with the same hub in the environment: %+v", r)
	}
	delete(m.env, cmdutil.EnvHub)
	for _, args := range [][]string{{"login", "--hub", other, "--api-key-stdin"}, {"pair", "--hub", other, "--token-stdin"}} {
		if r := m.with("x\n", args...); r.code != mcp.ExitConflict {
			t.Errorf("%v: %+v", args, r)
		}
	}

	// Somebody writes another address into the file: the credentials are not found there.
	path := filepath.Join(m.dir, "config", "profiles.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m.write("config/profiles.json", strings.ReplaceAll(string(text), h.URL, other))
	for _, args := range [][]string{{"jobs"}, {"run"}, {"status"}, {"unpair"}} {
		m.run(args...)
	}
	// A key in the environment is for RUNNERCTL_HUB, not for every profile.
	m.env[cmdutil.EnvHub], m.env[cmdutil.EnvAPIKey] = h.URL, h.AdminKey(t)
	m.run("status")
	if got := stolen(); len(got) > 0 {
		t.Errorf("another host was sent %d credentials", len(got))
	}
}

func TestTheKeyringIsReadOnlyWhenNeeded(t *testing.T) {
	t.Parallel()
	m, h := signedIn(t)
	m.env[cmdutil.EnvAPIKey] = h.AdminKey(t)
	m.keyring.gets = 0
	m.ok("jobs")
	m.ok("version")
	m.with(spec, "submit", "-")
	if m.keyring.gets != 0 {
		t.Errorf("the keyring was read %d times though the key is in the environment", m.keyring.gets)
	}
	delete(m.env, cmdutil.EnvAPIKey)
	m.ok("jobs")
	if m.keyring.gets != 1 {
		t.Errorf("the keyring was read %d times, want once", m.keyring.gets)
	}
}

func TestLoginAndLogout(t *testing.T) {
	t.Parallel()
	m, h := signedIn(t)
	m.ok("jobs")
	if r := m.with("ak_nonsense\n", "login"); r.code != mcp.ExitAuth {
		t.Errorf("login with a wrong key: %+v", r)
	}
	m.ok("jobs") // the first key was not overwritten
	if r := m.with("", "login"); r.code != mcp.ExitUsage || !strings.Contains(r.stderr, "standard input") {
		t.Errorf("login without a key: %+v", r)
	}
	if got := m.ok("logout"); !strings.Contains(got, "Signed out of "+h.URL) {
		t.Errorf("logout: %q", got)
	}
	if len(m.keyring.secrets) != 0 {
		t.Errorf("the keyring still holds %d secrets", len(m.keyring.secrets))
	}
	if r := m.run("logout"); r.code != mcp.ExitConflict {
		t.Errorf("logout twice: %+v", r)
	}
	if r := m.with("x\n", "login"); r.code != mcp.ExitUsage || !strings.Contains(r.stderr, "--hub") {
		t.Errorf("login to no hub: %+v", r)
	}
}

func TestLoginAsksAtATerminal(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, nil)
	m := newMachine(t)
	m.tty = true
	ask := func(secret func(context.Context) (string, error)) *going {
		return m.start("", func(f *cmdutil.Factory) { f.IO.Secret = secret }, "login", "--hub", h.URL)
	}
	if r := ask(func(context.Context) (string, error) { return h.AdminKey(t), nil }).wait(); r.code != 0 || !strings.Contains(r.stderr, "not shown") {
		t.Errorf("%+v", r)
	}
	g := ask(func(ctx context.Context) (string, error) { <-ctx.Done(); return "", context.Cause(ctx) })
	g.awaits(t, "not shown")
	g.signal <- struct{}{}
	if r := g.wait(); r.code != mcp.ExitInterrupted {
		t.Errorf("Ctrl-C at the prompt: %+v", r)
	}
}

func TestWithoutAKeyringAFileIsUsedAndSaid(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, nil)
	m := newMachine(t)
	m.keyring.broken = errors.New("no bus")
	file := filepath.Join(m.dir, "config", "credentials.json")
	if r := m.with(h.AdminKey(t), "login", "--hub", h.URL); r.code != 0 || !strings.Contains(r.stderr, "plain file") || !strings.Contains(r.stdout, file) {
		t.Fatalf("%+v", r)
	}
	m.keyring.broken = nil // the choice is remembered, even where there is a keyring by now
	m.ok("jobs")
	m.with(h.AdminKey(t), "pair", "--api-key-stdin")
	if text, err := os.ReadFile(file); err != nil || strings.Count(string(text), "default") != 2 {
		t.Errorf("the file: %v, %s", err, text)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if r := m.run("jobs"); r.code != mcp.ExitUnavailable || !strings.Contains(r.stderr, "chmod 600") {
		t.Errorf("a file that others read: %+v", r)
	}
}

func TestCredentialsAreNotScattered(t *testing.T) {
	t.Parallel()
	m, h := signedIn(t)
	if r := m.with(h.AdminKey(t), "pair", "--api-key-stdin", "--insecure-storage"); r.code != mcp.ExitConflict || !strings.Contains(r.stderr, "--insecure-storage") {
		t.Errorf("another storage for the same profile: %+v", r)
	}
	m.keyring.broken = errors.New("locked")
	if r := m.with(h.AdminKey(t), "pair", "--api-key-stdin"); r.code != mcp.ExitUnavailable || !strings.Contains(r.stderr, "unlock") {
		t.Errorf("a keyring that is locked now: %+v", r)
	}
	if r := m.run("jobs"); r.code != mcp.ExitUnavailable || !strings.Contains(r.stderr, "locked") {
		t.Errorf("jobs with a locked keyring: %+v", r)
	}
}

func TestProfilesSideBySide(t *testing.T) {
	t.Parallel()
	m, one := signedIn(t)
	two := servertest.Start(t, nil)
	m.env[cmdutil.EnvProfile] = "work"
	m.with(two.AdminKey(t), "login", "--hub", two.URL)
	job := strings.TrimSpace(m.with(spec, "submit", "-").stdout)
	if r := m.run("jobs", "--profile", "default"); r.code != 0 || r.stdout != "" {
		t.Errorf("the first hub: %+v", r)
	}
	if got := m.ok("jobs"); !strings.HasPrefix(got, job) {
		t.Errorf("the second hub: %q", got)
	}
	var file struct {
		Profiles map[string]struct{ Hub string }
	}
	text, err := os.ReadFile(filepath.Join(m.dir, "config", "profiles.json"))
	if err != nil || json.Unmarshal(text, &file) != nil {
		t.Fatal(err, string(text))
	}
	if file.Profiles["default"].Hub != one.URL || file.Profiles["work"].Hub != two.URL {
		t.Errorf("profiles: %+v", file)
	}
}
