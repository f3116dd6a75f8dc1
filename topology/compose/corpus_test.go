package compose_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/compose"
)

var update = flag.Bool("update", false, "write what comes up anew")

// project is one of the corpus: Compose files written for this project after what
// public ones have, and what must come up.
type project struct {
	name    string
	archive *txtar.Archive
	dir     string
	spec    *topology.Spec // of the job, before its Compose files are read
}

func corpus(t *testing.T) []project {
	t.Helper()
	files, err := filepath.Glob("testdata/corpus/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 30 {
		t.Fatalf("%d projects, want at least 30", len(files))
	}
	var all []project
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p := project{name: strings.TrimSuffix(filepath.Base(file), ".txtar"), archive: archive, dir: t.TempDir()}
		for _, f := range archive.Files {
			if f.Name == "job.yaml" {
				if p.spec, err = topology.Parse(f.Data); err != nil {
					t.Fatalf("%s: %v", p.name, err)
				}
			}
			if f.Name != "job.yaml" && f.Name != "comes-up" && f.Name != "stdout" {
				write(t, p.dir, f.Name, string(f.Data))
			}
		}
		all = append(all, p)
	}
	return all
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	name = filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (p project) file(name string) (string, bool) {
	for _, f := range p.archive.Files {
		if f.Name == name {
			return string(f.Data), true
		}
	}
	return "", false
}

// TestCorpus plans every project and compares what comes up, in which order, and what
// it asks of the machine's owner.
func TestCorpus(t *testing.T) {
	t.Parallel()
	for _, p := range corpus(t) {
		spec, notes, failure := compose.Load(t.Context(), p.dir, p.spec)
		if failure != nil {
			t.Errorf("%s: %+v", p.name, failure)
			continue
		}
		got := comesUp(t, spec) + strings.Join(append(notes, ""), "\n")
		want, _ := p.file("comes-up")
		if got == want {
			continue
		}
		if !*update {
			t.Errorf("%s: %s", p.name, cmp.Diff(want, got))
			continue
		}
		p.archive.Files = append(slices.DeleteFunc(p.archive.Files, func(f txtar.File) bool { return f.Name == "comes-up" }),
			txtar.File{Name: "comes-up", Data: []byte(got)})
		if err := os.WriteFile(filepath.Join("testdata/corpus", p.name+".txtar"), txtar.Format(p.archive), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// comesUp is a spec's plan from the outside: one line for each container.
func comesUp(t *testing.T, spec *topology.Spec) string {
	t.Helper()
	id := topology.Identity{Hub: "hub", Runner: "rnr", Job: "job", Attempt: 1, Epoch: 1}
	unfolded := spec.Unfold(id, "tag")
	observed := topology.Observed{
		Engine: topology.EngineInfo{Info: topology.Info{OS: "linux", Arch: "amd64"}}, Images: map[string]topology.Image{},
		Files: map[string]bool{"db/postgresql.conf": true, "words.txt": true},
	}
	for _, ref := range unfolded.Images() {
		observed.Images[ref] = topology.Image{OS: "linux", Arch: "amd64"}
		if strings.Contains(ref, "checked") {
			health := &topology.Healthcheck{Test: []string{"CMD", "of-the-image"}}
			observed.Images[ref] = topology.Image{OS: "linux", Arch: "amd64", Health: health}
		}
	}
	if _, failure := topology.PlanPulls(unfolded, observed); failure != nil && spec.Pull != topology.PullNever {
		t.Fatalf("%+v", failure)
	}
	plan, failure := topology.PlanAttempt(unfolded, id, topology.NamesFor(unfolded, id, "tag"), observed)
	if failure != nil {
		t.Fatalf("%+v", failure)
	}
	awaited := map[string]string{}
	for _, op := range plan {
		switch op.Kind {
		case topology.OpAwaitHealthy:
			awaited[op.Service] = "is healthy when " + strings.Join(op.Health.Test, " ")
		case topology.OpAwaitCompleted:
			awaited[op.Service] = "runs to its end"
		}
	}
	var b strings.Builder
	for _, op := range plan {
		if op.Service != "" && op.Kind == topology.OpCreateContainer {
			c := op.Container
			fmt.Fprintf(&b, "%s as %s: %s%s\n", op.Service, strings.Join(c.Aliases, " "), c.Image, argv(" ", c.Entrypoint, c.Command))
			if len(c.Env) > 0 {
				fmt.Fprintf(&b, "  with %s\n", strings.Join(c.Env, " "))
			}
			for _, m := range c.Mounts {
				fmt.Fprintf(&b, "  mounts %s %s at %s%s\n", m.Type, m.Source, m.Target, map[bool]string{true: ", read-only"}[m.ReadOnly])
			}
			for _, dir := range slices.Sorted(maps.Keys(c.Tmpfs)) {
				fmt.Fprintf(&b, "  has memory at %s %s\n", dir, c.Tmpfs[dir])
			}
		}
		if op.Service != "" && op.Kind == topology.OpCopy {
			for _, c := range op.Copies {
				fmt.Fprintf(&b, "  gets %s%q as %s %s\n", c.Source, c.Content, c.Target, c.Mode)
			}
		}
		if op.Service != "" && op.Kind == topology.OpStart {
			_, waits, _ := strings.Cut(op.Cause, ", ")
			if waits != "" {
				fmt.Fprintf(&b, "  starts when %s\n", waits)
			}
			if awaited[op.Service] != "" {
				fmt.Fprintf(&b, "  %s\n", awaited[op.Service])
			}
		}
	}
	for _, d := range spec.Demands() {
		fmt.Fprintf(&b, "%s asks for %s %s\n", d.Service, d.Power, d.Value)
	}
	return b.String()
}

func argv(before string, words ...[]string) string {
	all := slices.Concat(words...)
	if len(all) == 0 {
		return ""
	}
	return before + fmt.Sprintf("%q", all)
}
