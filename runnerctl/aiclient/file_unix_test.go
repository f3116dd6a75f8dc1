//go:build unix

package aiclient_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/runnerctl/aiclient"
)

func TestPlaces(t *testing.T) {
	t.Parallel()
	p := aiclient.Places{Home: "/home/ann", Config: "/home/ann/.config", Getenv: func(string) string { return "" }}
	elsewhere := p
	elsewhere.Getenv = func(name string) string { return "/srv/" + name }
	got := map[string][]string{}
	for _, name := range aiclient.Names() {
		c := find(t, name)
		project, _ := c.ProjectFile("/srv/app")
		got[name] = []string{c.UserFile(p), c.UserFile(elsewhere), project}
	}
	if diff := cmp.Diff(map[string][]string{
		"claude-code":    {"/home/ann/.claude.json", "/srv/CLAUDE_CONFIG_DIR/.claude.json", "/srv/app/.mcp.json"},
		"vscode":         {"/home/ann/.config/Code/User/mcp.json", "/home/ann/.config/Code/User/mcp.json", "/srv/app/.vscode/mcp.json"},
		"cursor":         {"/home/ann/.cursor/mcp.json", "/home/ann/.cursor/mcp.json", "/srv/app/.cursor/mcp.json"},
		"codex":          {"/home/ann/.codex/config.toml", "/srv/CODEX_HOME/config.toml", "/srv/app/.codex/config.toml"},
		"claude-desktop": {"/home/ann/.config/Claude/claude_desktop_config.json", "/home/ann/.config/Claude/claude_desktop_config.json", "/srv/app"},
	}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if _, ok := find(t, "claude-desktop").ProjectFile("/srv/app"); ok {
		t.Error("Claude Desktop has no projects")
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fresh := filepath.Join(dir, "a", "b", "new.json")
	if text, err := aiclient.Read(fresh); err != nil || text != nil {
		t.Fatalf("%q, %v", text, err)
	}
	if err := aiclient.Replace(fresh, nil, []byte("1")); err != nil {
		t.Fatal(err)
	}
	wantFile(t, fresh, "1", 0o600)

	if err := os.Chmod(fresh, 0o640); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link.json")
	if err := os.Symlink(fresh, link); err != nil {
		t.Fatal(err)
	}
	if err := aiclient.Replace(link, []byte("1"), []byte("2")); err != nil {
		t.Fatal(err)
	}
	wantFile(t, fresh, "2", 0o640)
	if to, err := os.Readlink(link); err != nil || to != fresh {
		t.Errorf("the link has become %q, %v", to, err)
	}

	if err := aiclient.Replace(link, []byte("1"), []byte("3")); !errors.Is(err, aiclient.ErrChanged) {
		t.Errorf("%v, want ErrChanged", err)
	}
	if err := os.Remove(fresh); err != nil {
		t.Fatal(err)
	}
	if err := aiclient.Replace(link, nil, []byte("3")); err == nil {
		t.Error("a link that leads nowhere was replaced")
	}
	if left, err := os.ReadDir(filepath.Dir(fresh)); err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

func wantFile(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != text {
		t.Errorf("%s is %q, %v; want %q", path, got, err, text)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
		t.Errorf("%s: %v, %v; want mode %o", path, info.Mode(), err, mode)
	}
}
