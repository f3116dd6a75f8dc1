package docker_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/compose"
	"github.com/runnerhub/runnerhub/topology/docker"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// composed reads the Compose files of a job whose source is dir.
func composed(t *testing.T, dir string, job []byte) topology.Work {
	t.Helper()
	spec, err := topology.Parse(job)
	if err != nil {
		t.Fatal(err)
	}
	spec, _, failure := compose.Load(t.Context(), dir, spec)
	if failure != nil {
		t.Fatalf("%+v", failure)
	}
	return topology.Work{Identity: identity(t), Spec: spec, Source: dir}
}

// runs lists the projects of the corpus that need no images but ours.
func runs(t *testing.T) map[string]*txtar.Archive {
	t.Helper()
	files, err := filepath.Glob("../compose/testdata/corpus/run-*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	all := map[string]*txtar.Archive{}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".txtar")] = archive
	}
	return all
}

func TestComposeProjects(t *testing.T) {
	t.Parallel()
	for name, archive := range runs(t) {
		builders := []string{""}
		if strings.Contains(name, "build") {
			builders = []string{"1", "2"} // both are in the engine, whichever is its choice
		}
		for _, builder := range builders {
			t.Run(name+builder, func(t *testing.T) {
				t.Parallel()
				dir, job, want := t.TempDir(), []byte(nil), ""
				for _, f := range archive.Files {
					switch f.Name {
					case "job.yaml":
						job = f.Data
					case "stdout":
						want = string(f.Data)
					default:
						writeFile(t, filepath.Join(dir, f.Name), f.Data)
					}
				}
				work, obs := composed(t, dir, job), &topologytest.Observer{}
				wantResult(t, newExecutor(t, work.Hub, docker.Options{Builder: builder}).Run(t.Context(), work, obs), "succeeded 0")
				if got := obs.Text(topology.Stdout, ""); got != want {
					t.Errorf("stdout %q, want %q; stderr %q", got, want, obs.Text(topology.Stderr, ""))
				}
				if name == "run-stop" && obs.Text(topology.Stdout, "polite") != "ready\ngoodbye\n" {
					t.Errorf("polite: %q", obs.Text(topology.Stdout, "polite"))
				}
				if builder != "" && !strings.Contains(obs.Text(topology.Stdout, "migrate"), `echo "built with`) {
					t.Errorf("the build's log is %q", obs.Text(topology.Stdout, "migrate"))
				}
			})
		}
	}
}

func writeFile(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o644); err != nil { //nolint:gosec // a container's user reads it
		t.Fatal(err)
	}
}

func TestComposeExample(t *testing.T) {
	t.Parallel()
	const dir = "../../examples/compose"
	job, err := os.ReadFile(filepath.Join(dir, "job.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	work, obs := composed(t, dir, job), &topologytest.Observer{}
	wantResult(t, newExecutor(t, work.Hub, docker.Options{}).Run(t.Context(), work, obs), "succeeded 0")
	if t.Failed() {
		t.Log(obs.Text(topology.System, ""), obs.Text(topology.Stderr, ""))
	}
}

func TestBuildsThatFail(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "Dockerfile"), []byte("FROM "+busybox+"\nRUN echo made > /made\nRUN echo no luck >&2; exit 3\n"))
	if err := os.Symlink("/etc", filepath.Join(dir, "away")); err != nil {
		t.Fatal(err)
	}
	id := identity(t)
	tests := map[string]struct {
		service topology.Service
		builder string
		want    string
		words   []string
	}{
		"classic":       {topology.Service{Build: &topology.Build{Context: ".", Network: "none"}}, "1", "failed script app", []string{"could not be built", "no luck"}},
		"BuildKit":      {topology.Service{Build: &topology.Build{Context: ".", Network: "none"}}, "2", "failed script app", []string{"could not be built", "no luck"}},
		"no Dockerfile": {topology.Service{Build: &topology.Build{Context: ".", Dockerfile: "none"}}, "1", "failed spec_invalid", []string{"none cannot be read"}},
		"no context":    {topology.Service{Build: &topology.Build{Context: "nowhere"}}, "1", "failed spec_invalid", []string{"nowhere cannot be read"}},
		"a link away":   {topology.Service{Build: &topology.Build{Context: "away"}}, "1", "failed spec_invalid", []string{"away cannot be read"}},
		"a mount away":  {topology.Service{Image: busybox, Volumes: []topology.Mount{{Type: topology.MountBind, Source: "away/passwd", Target: "/x"}}}, "1", "failed spec_invalid", []string{"away/passwd cannot be read"}},
	}
	for name, tt := range tests {
		e := newExecutor(t, id.Hub, docker.Options{Builder: tt.builder})
		work := topology.Work{Identity: id, Source: dir, Spec: &topology.Spec{
			Image: busybox, Command: []string{"true"}, Services: map[string]topology.Service{"app": tt.service},
		}}
		t.Log(name)
		wantResult(t, e.Run(t.Context(), work, &topologytest.Observer{}), tt.want, tt.words...)
	}
}
