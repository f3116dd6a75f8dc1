package runnerctl_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/aiclient"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
)

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n"

func TestMCP(t *testing.T) {
	t.Parallel()
	m, _ := onHub(t)
	r := m.with(initialize, "mcp")
	var answer struct {
		ID     int
		Result struct{ ProtocolVersion string }
	}
	if err := json.Unmarshal([]byte(r.stdout), &answer); err != nil || answer.ID != 1 || answer.Result.ProtocolVersion != "2025-11-25" || r.code != 0 || r.stderr != "" {
		t.Errorf("exit code %d, %v\n%s%s", r.code, err, r.stdout, r.stderr)
	}

	// Whoever is not signed in is told so by their client, and by what it keeps of standard error.
	r = newMachine(t).with(initialize, "mcp")
	if r.code != 0 || !strings.Contains(r.stdout, "`runnerctl login") || strings.Count(r.stdout, "\n") != 1 || !strings.Contains(r.stderr, "runnerctl login") {
		t.Errorf("exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
}

// where is a client's file on a machine.
func (m *machine) where(name string) string {
	m.t.Helper()
	c, ok := aiclient.Find(name)
	if !ok {
		m.t.Fatalf("there is no client %s", name)
	}
	return c.UserFile(aiclient.Places{
		Home: filepath.Join(m.dir, "home"), Config: filepath.Join(m.dir, "settings"), Getenv: func(string) string { return "" },
	})
}

func TestMCPInstall(t *testing.T) {
	t.Parallel()
	for _, name := range aiclient.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.env[cmdutil.EnvHub], m.env[cmdutil.EnvAPIKey] = "http://127.0.0.1:1", "ak_0123456789abcdef"
			file := m.where(name)
			if out := m.ok("mcp", "install", name, "--dry-run"); !strings.Contains(out, "+++ "+file+" (new)\n") {
				t.Errorf("the change is not shown:\n%s", out)
			}
			if r := m.run("mcp", "install", name); r.code != mcp.ExitUsage || !strings.Contains(r.stderr, "--yes") {
				t.Errorf("without a terminal: exit code %d\n%s", r.code, r.stderr)
			}
			if _, err := os.Stat(filepath.Dir(file)); !os.IsNotExist(err) && filepath.Base(filepath.Dir(file)) != "home" {
				t.Errorf("something was made: %v", err)
			}
			r := m.run("--profile", "work", "mcp", "install", name, "--yes", "--name", "my_hub")
			text, err := os.ReadFile(file)
			if err != nil || r.code != 0 || !strings.Contains(r.stderr, "not signed in (profile work)") { // the client has another environment
				t.Fatalf("exit code %d, %v\n%s", r.code, err, r.stderr)
			}
			for _, want := range []string{"my_hub", `["mcp", "--profile", "work"]`} {
				if !strings.Contains(string(text), want) {
					t.Errorf("%s lacks %s:\n%s", file, want, text)
				}
			}
			if strings.Contains(string(text), "ak_") {
				t.Errorf("the key is in %s:\n%s", file, text)
			}
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%v, %v; want mode 600", info.Mode(), err)
			}
			again := []string{"--profile", "work", "mcp", "install", name, "--name", "my_hub"} // needs no answer
			if out := m.ok(again...); !strings.Contains(out, "Nothing to do") {
				t.Errorf("a second time:\n%s", out)
			}
			m.ok("mcp", "uninstall", name, "--yes", "--name", "my_hub")
			if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), "my_hub") {
				t.Errorf("%v, left:\n%s", err, text)
			}
			if out := m.ok("mcp", "uninstall", name, "--name", "my_hub"); !strings.Contains(out, "Nothing to do") {
				t.Errorf("a second time:\n%s", out)
			}
		})
	}
}

func TestMCPInstallAsks(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.tty = true
	file := m.where("cursor")
	for _, no := range []string{"", "\n", "n\n", "nay\n"} {
		r := m.with(no, "mcp", "install", "cursor")
		if r.code != 0 || !strings.Contains(r.stderr, "[y/N]") || !strings.Contains(r.stdout, "Nothing was changed.") {
			t.Errorf("%q: exit code %d\n%s%s", no, r.code, r.stdout, r.stderr)
		}
		if _, err := os.Stat(file); !os.IsNotExist(err) {
			t.Errorf("%q: %v, want no file", no, err)
		}
	}
	r := m.with("Y\n", "mcp", "install", "cursor")
	if r.code != 0 || !strings.Contains(r.stdout, "Written. Start Cursor again") || !strings.Contains(r.stderr, "warning: ") || !strings.Contains(r.stderr, "runnerctl login") {
		t.Errorf("exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

func TestMCPInstallRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		client, text string
		code         int
		says         []string
	}{
		"a damaged file":    {"cursor", "{\n  \"a\" 1\n}", mcp.ExitUsage, []string{"line 2", "nothing was changed"}},
		"damaged TOML":      {"codex", "a = 1\nb =\n", mcp.ExitUsage, []string{"line 2", "nothing was changed"}},
		"another's server":  {"cursor", `{"mcpServers": {"runnerhub": {"url": "http://h"}}}`, mcp.ExitConflict, []string{"runnerhub", "--name"}},
		"another notation":  {"codex", "mcp_servers = {a = {command = \"a\"}}\n", mcp.ExitConflict, []string{"by hand"}},
		"not a client":      {"emacs", "", mcp.ExitUsage, []string{"claude-code, vscode"}},
		"without a project": {"claude-desktop --project", "", mcp.ExitUsage, []string{"no configuration of projects"}},
		"not a name":        {"cursor --name a.b", "", mcp.ExitUsage, []string{"--name"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			if tc.text != "" {
				if err := aiclient.Replace(m.where(tc.client), nil, []byte(tc.text)); err != nil {
					t.Fatal(err)
				}
			}
			r := m.run(append([]string{"mcp", "install", "--yes"}, strings.Fields(tc.client)...)...)
			for _, want := range tc.says {
				if r.code != tc.code || !strings.Contains(r.stderr, want) {
					t.Errorf("exit code %d, want %d and %q:\n%s", r.code, tc.code, want, r.stderr)
				}
			}
			if tc.text != "" {
				if now, err := os.ReadFile(m.where(tc.client)); err != nil || string(now) != tc.text {
					t.Errorf("%v, the file is now\n%s", err, now)
				}
			}
		})
	}
}

func TestMCPInstallSaysWhatKeepsItFromTheFile(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	file := m.where("cursor")
	if err := os.MkdirAll(file, 0o700); err != nil { // a folder of its name
		t.Fatal(err)
	}
	r := m.run("mcp", "install", "cursor", "--yes")
	if r.code != mcp.ExitConflict || !strings.Contains(r.stderr, file) || !strings.Contains(r.stderr, "hint: nothing was changed; see who may") {
		t.Errorf("exit code %d\n%s", r.code, r.stderr)
	}
}
