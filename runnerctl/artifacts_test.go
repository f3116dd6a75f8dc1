package runnerctl_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/topology/attempt"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

const leavingSpec = `
name: leaves files
image: ` + topologytest.FakeImage + `
steps: [{run: test}]
artifacts: [{name: reports, path: "out/**/*.xml"}, dist]
reports: {junit: "out/*.xml"}
`

// What a job leaves goes all the way: out of its container, over the runner to the hub, and into a person's folder.
func TestArtifactsFromTheContainerToAFolder(t *testing.T) {
	t.Parallel()
	m, _ := onHub(t)
	fake := topologytest.NewFake()
	files := map[string]string{
		"out/junit.xml":  `<testsuite name="s"><testcase name="good"/><testcase name="bad"><failure/></testcase></testsuite>`,
		"out/more/b.xml": strings.Repeat("0123456789", 600_000), // of several parts
		"dist/größe x":   "tool",
	}
	fake.AddProgram("test", func(p *topologytest.FakeProcess) int {
		for at, text := range files {
			p.WriteFile("/workspace/"+at, []byte(text))
		}
		p.WriteFile("/tmp/runnerhub-output", []byte("VERSION=1.2\nNOTES<<E\none\ntwo\nE\n"))
		return 4
	})
	m.executor = attempt.New(fake, attempt.Options{})
	m.ok("pair", "--label", "box")
	m.runner()
	if r := m.with(leavingSpec, "submit", "-", "--follow"); r.code != 4 {
		t.Fatalf("submit: %+v", r)
	}
	id := decode[[]mcp.Job](t, m.ok("jobs", "--json"))[0].ID
	list := decode[[]mcp.Artifact](t, m.ok("artifacts", id, "--json"))
	var paths []string
	for _, a := range list {
		paths = append(paths, a.Name+": "+a.Path)
	}
	if diff := cmp.Diff([]string{"dist: dist/größe x", "reports: out/junit.xml", "reports: out/more/b.xml"}, paths); diff != "" {
		t.Error(diff)
	}
	explained := m.ok("explain", id)
	for _, want := range []string{"tests: 1 passed, 1 failed, 0 skipped", "failed: s.bad", "VERSION=1.2", "NOTES=one", "out/more/b.xml (5.7 MiB)"} {
		if !strings.Contains(explained, want) {
			t.Errorf("explain lacks %q:\n%s", want, explained)
		}
	}

	var structured mcp.ExplainJobResult // what an agent gets, which reads no text
	if err := json.Unmarshal([]byte(m.ok("explain", "--json", id)), &structured); err != nil {
		t.Fatal(err)
	}
	if s := structured; s.Tests == nil || s.Tests.Failed != 1 || s.Outputs["VERSION"] != "1.2" ||
		!strings.HasSuffix(s.Summary, "Of its tests 1 passed, 1 failed and 0 were skipped; failed: s.bad.") {
		t.Errorf("explain --json: %+v", s)
	}

	dir := filepath.Join(t.TempDir(), "new")
	if got, want := m.ok("download", id, "--dir", dir), "dist/größe x\nout/junit.xml\nout/more/b.xml\n"; got != want {
		t.Errorf("download prints %q", got)
	}
	for at, want := range files {
		if got, err := os.ReadFile(filepath.Join(dir, at)); err != nil || string(got) != want {
			t.Errorf("%s has %d bytes, error %v", at, len(got), err)
		}
	}
	m.ok("download", id, "--dir", dir) // all of it is there
	changed := filepath.Join(dir, "dist/größe x")
	if err := os.WriteFile(changed, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := m.run("download", id, "dist", "--dir", dir); r.code == 0 || !strings.Contains(r.stderr, "another dist/größe x already") {
		t.Errorf("download over another file: %+v", r)
	}
	if got, _ := os.ReadFile(changed); string(got) != "mine" {
		t.Errorf("it was written over: %q", got)
	}
	m.ok("download", id, "dist", "--dir", dir, "--force")
	if got, _ := os.ReadFile(changed); string(got) != "tool" {
		t.Errorf("--force left %q", got)
	}
	if r := m.run("download", id, "nothing", "--dir", dir); r.code == 0 || !strings.Contains(r.stderr, `no artifact, file or folder "nothing"`) {
		t.Errorf("download of nothing: %+v", r)
	}

	if left, _ := filepath.Glob(filepath.Join(dir, "*", ".*.part")); len(left) > 0 {
		t.Errorf("parts are left: %v", left)
	}
}
