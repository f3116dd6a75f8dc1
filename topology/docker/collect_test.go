package docker_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/docker"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// kept reads what an attempt left, by its name and path.
func kept(t *testing.T, r topology.Result) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, f := range r.Artifacts {
		data, err := os.ReadFile(f.File)
		if err != nil {
			t.Error(err)
		}
		name := f.Name + ": " + f.Path
		if f.Executable {
			name += "*"
		}
		out[name] = string(data)
	}
	return out
}

// Files come out of a container that still runs (steps) and of one that has ended (a command), whoever owns them.
func TestWhatAJobLeavesIsCollected(t *testing.T) {
	t.Parallel()
	id := identity(t)
	e := newExecutor(t, id.Hub, docker.Options{})
	script := `mkdir -p out/sub dist; echo a > out/a.txt; echo b > "out/sub/größe x.txt"; echo no > out/no.log
		printf '#!/bin/sh\n' > dist/tool; chmod 700 dist/tool; ln -s /etc/passwd out/link.txt; ln -s ../out dist/away
		echo "A=1" >> "$RUNNERHUB_OUTPUT"; printf 'B<<E\none\ntwo\nE\n' >> "$RUNNERHUB_OUTPUT"
		echo '<testsuite name="s"><testcase name="good"/><testcase name="bad"><error/></testcase></testsuite>' > out/junit.xml`
	spec := func() *topology.Spec {
		return &topology.Spec{
			Image: busybox, Artifacts: []topology.Artifact{
				{Name: "texts", Path: "out/**/*.txt"}, {Name: "dist", Path: "dist"}, {Name: "none", Path: "none/**", Optional: true},
			},
			Reports: topology.Reports{JUnit: []string{"out/*.xml"}},
		}
	}
	running, ended := spec(), spec()
	running.Steps, running.User = []topology.Step{{Name: "leave", Run: script}}, "1000:1000"
	ended.Command = sh(script)
	for name, s := range map[string]*topology.Spec{"a container that runs": running, "a container that has ended": ended} {
		obs := &topologytest.Observer{}
		dir := filepath.Join(t.TempDir(), "artifacts")
		r := e.Run(t.Context(), topology.Work{Identity: id, Spec: s, Collect: &topology.Collect{Dir: dir}}, obs)
		wantResult(t, r, "succeeded 0")
		want := map[string]string{"texts: out/a.txt": "a\n", "texts: out/sub/größe x.txt": "b\n", "dist: dist/tool*": "#!/bin/sh\n"}
		if diff := cmp.Diff(want, kept(t, r)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if !maps.Equal(r.Outputs, map[string]string{"A": "1", "B": "one\ntwo"}) {
			t.Errorf("%s: outputs %v", name, r.Outputs)
		}
		if diff := cmp.Diff(&topology.Tests{Passed: 1, Failed: 1, Failing: []string{"s.bad"}}, r.Tests); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if log := obs.Text(topology.System, ""); !strings.Contains(log, "out/link.txt is a symbolic link and was not kept.") {
			t.Errorf("%s: the log is %q", name, log)
		}
	}
}

// The example of a report runs as it is written.
func TestExampleOfAReport(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../examples/junit.yaml")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := topology.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	id := identity(t)
	r := newExecutor(t, id.Hub, docker.Options{}).Run(t.Context(), topology.Work{
		Identity: id, Spec: spec, Collect: &topology.Collect{Dir: t.TempDir()},
	}, &topologytest.Observer{})
	if r.Status != topology.Failed || r.Failure.Class != topology.ClassScript || *r.ExitCode != 1 {
		t.Errorf("it ends as %+v, %+v", r, r.Failure)
	}
	want := &topology.Tests{Passed: 1, Failed: 1, Skipped: 1, Failing: []string{"shop.Cart.rounds"}}
	want.Failures = []topology.TestFailure{{Name: "shop.Cart.rounds", Message: "expected 10.00, got 9.99\ncart_test.go:17"}}
	if diff := cmp.Diff(want, r.Tests); diff != "" {
		t.Error(diff)
	}
	if r.Outputs["VERSION"] != "1.2.3" || len(kept(t, r)) != 2 {
		t.Errorf("outputs %v, artifacts %v", r.Outputs, kept(t, r))
	}
}
