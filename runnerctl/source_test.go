package runnerctl_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// showTree is a job that logs the files that it starts with.
func showTree(ctx context.Context, work topology.Work, obs topology.Observer) topology.Result {
	var lines []string
	_ = filepath.WalkDir(work.Source, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(work.Source, name)
		data, _ := os.ReadFile(name)
		lines = append(lines, rel+": "+string(data))
		return nil
	})
	return topologytest.Exit(0, lines...)(ctx, work, obs)
}

// A job starts with the working tree, which is uploaded once; and what a tree must not be is said.
func TestSubmitAWorkingTree(t *testing.T) {
	t.Parallel()
	m, _ := onHub(t)
	m.executor = topologytest.NewExecutor(showTree)
	m.ok("pair", "--label", "box")
	m.runner()
	dir := t.TempDir()
	for name, content := range map[string]string{"src/a": "one", ".gitignore": "*.log", "x.log": "noise"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	const spec = "image: busybox\nsource: {files: {extra: two}}\n"
	const want = ".gitignore: *.log\nextra: two\nsrc/a: one\n"
	r := m.with(spec, "submit", "-", "--source", dir, "--follow")
	if r.code != 0 || r.stdout != want {
		t.Fatalf("%+v", r)
	}
	for _, words := range []string{"2 files, 8B", "; uploading", "1 symbolic link (out)"} {
		if !strings.Contains(r.stderr, words) {
			t.Errorf("standard error lacks %q:\n%s", words, r.stderr)
		}
	}
	r = m.with(spec, "submit", "-", "--source", dir, "--follow")
	if r.code != 0 || r.stdout != want || !strings.Contains(r.stderr, "the hub has it already") || strings.Contains(r.stderr, "uploading") {
		t.Errorf("an unchanged tree: %+v", r)
	}
	job := decode[[]mcp.Job](t, m.ok("jobs", "--json"))[0].ID
	if r := m.run("retry", job, "--follow"); r.code != 0 || r.stdout != want {
		t.Errorf("a retry: %+v", r)
	}
	if r := m.with(spec, "submit", "-", "--source", dir, "--check"); r.code != 0 || !strings.Contains(r.stderr, "2 files") || strings.Contains(r.stderr, "packed") {
		t.Errorf("a check: %+v", r)
	}
	if r := m.with("image: busybox\ncommand: [\"true\"]\ncompose: compose.yaml\n", "submit", "-", "--source", dir, "--check"); r.code != 0 || !strings.Contains(r.stderr, "The spec is valid") {
		t.Errorf("a check of what needs the source: %+v", r)
	}
	if r := m.with("image: busybox\ncommand: [\"true\"]\ncompose: compose.yaml\n", "submit", "-", "--check"); r.code == 0 || !strings.Contains(r.stdout+r.stderr, "needs files of a source") {
		t.Errorf("without the source: %+v", r)
	}
	for name, args := range map[string][]string{"own source": {"-", "--source", dir}, "no folder": {"-", "--source", filepath.Join(dir, "none")}} {
		text := "image: busybox\n"
		if name == "own source" {
			text += "source: {archive: sha256:" + strings.Repeat("0", 64) + "}\n"
		}
		if r := m.with(text, append([]string{"submit"}, args...)...); r.code != mcp.ExitUsage {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r := m.with("image: [", "submit", "-", "--source", dir); r.code == 0 || !strings.Contains(r.stderr, "-:1:") || strings.Contains(r.stderr, "packed") {
		t.Errorf("a spec with a fault: %+v", r)
	}
	// Nothing of it is left on the runner's machine.
	left, err := filepath.Glob(filepath.Join(m.dir, "state", "*", "*", "attempts", "*", "source"))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A source that is not there is the job's failure, with its class.
func TestASourceThatFails(t *testing.T) {
	t.Parallel()
	m, _ := onHub(t)
	m.executor = topologytest.NewExecutor(showTree)
	m.ok("pair", "--label", "box")
	m.runner("--git-mirror", "https://git.invalid/="+t.TempDir()+"/")
	const spec = "image: busybox\nretry: {max_attempts: 1}\nsource: {repository: \"https://git.invalid/app\", commit: 0123456789abcdef0123456789abcdef01234567}\n"
	r := m.with(spec, "submit", "-", "--follow")
	if r.code == 0 || !strings.Contains(r.stderr, "could not be fetched") {
		t.Errorf("%+v", r)
	}
	if r := m.run("run", "--git-mirror", "nonsense"); r.code != mcp.ExitUsage {
		t.Errorf("%+v", r)
	}
}
