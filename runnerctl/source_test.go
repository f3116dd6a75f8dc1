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

// A patch goes over the working tree, over the spec's files, or is the whole source; what is wrong with it is said before anything is sent.
func TestSubmitAPatch(t *testing.T) {
	t.Parallel()
	m, _ := onHub(t)
	m.executor = topologytest.NewExecutor(showTree)
	m.ok("pair", "--label", "box")
	m.runner()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	patch := func(text string) string {
		name := filepath.Join(t.TempDir(), "p.diff")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	const edit = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+two\n"
	const plain = "image: busybox\n"
	if r := m.with(plain, "submit", "-", "--source", dir, "--patch", patch(edit), "--follow"); r.code != 0 || r.stdout != "a: two\n\n" {
		t.Errorf("over a folder: %+v", r)
	}
	job := decode[[]mcp.Job](t, m.ok("jobs", "--json"))[0].ID
	if r := m.run("retry", job, "--follow"); r.code != 0 || r.stdout != "a: two\n\n" {
		t.Errorf("a retry: %+v", r)
	}
	if r := m.with(plain+"source: {files: {a: \"one\\n\"}}\n", "submit", "-", "--patch", patch(edit), "--follow"); r.code != 0 || r.stdout != "a: two\n\n" {
		t.Errorf("over files: %+v", r)
	}
	if r := m.with(plain, "submit", "-", "--patch", patch("--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n"), "--follow"); r.code != 0 || r.stdout != "new: x\n\n" {
		t.Errorf("alone: %+v", r)
	}
	for name, tt := range map[string]struct{ spec, patch, words string }{
		"no base":       {plain, edit, `changes "a", and the source has no files`},
		"bad":           {plain, strings.Replace(edit, "@@ -1 ", "@@ -1,2 ", 1), "line 3 of the patch: the hunk's header counts other lines"},
		"misfit":        {plain + "source: {files: {a: three}}\n", edit, `does not fit the source: a, hunk 1 (line 3 of the patch): at line 1 the patch has "one\n" and the file has "three"`},
		"one too many":  {plain + "source: {patch: \"--- /dev/null\\n+++ b/new\\n@@ -0,0 +1 @@\\n+x\\n\"}\n", edit, "has a patch of its own"},
		"a broken spec": {"image: [", edit, "-:1:"},
	} {
		if r := m.with(tt.spec, "submit", "-", "--patch", patch(tt.patch), "--follow"); r.code == 0 || !strings.Contains(r.stderr, tt.words) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r := m.with(plain, "submit", "-", "--patch", filepath.Join(dir, "none")); r.code != mcp.ExitUsage {
		t.Errorf("no such file: %+v", r)
	}
	if r := m.with(plain, "submit", "-", "--source", dir, "--patch", patch(edit), "--check"); r.code != 0 {
		t.Errorf("a check: %+v", r)
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
