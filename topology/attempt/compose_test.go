package attempt

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// tree makes a source of files by their paths.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Equal builds are built once, of what the context has and its list of exceptions leaves, and
// the images go with the attempt.
func TestBuilds(t *testing.T) {
	dir := tree(t, map[string]string{
		"app/Dockerfile": "FROM base\n", "app/.dockerignore": "*.log\nnode_modules\n!keep.log\n", "app/main.go": "x", "app/a.log": "x",
		"app/keep.log": "x", "app/node_modules/a/b": "x", "other/x": "x", "docker/Dockerfile": "FROM other\n", "docker/Dockerfile.dockerignore": "",
	})
	inBubble(t, func(b *bench) {
		var contexts []string
		b.fake.AddProgram("look", func(*topologytest.FakeProcess) int {
			specs, files := b.fake.Built()
			for name, spec := range specs {
				text := spec.Dockerfile + ":" + spec.Args["A"]
				for _, f := range slices.Sorted(maps.Keys(files[name])) {
					text += " " + f
				}
				contexts = append(contexts, text)
			}
			return 0
		})
		app := &topology.Build{Context: "app", Args: map[string]string{"A": "1"}}
		r := b.exec.Run(b.Context(), topology.Work{Identity: id, Source: dir, Spec: &topology.Spec{
			Image: topologytest.FakeImage, Command: command("look"), Services: map[string]topology.Service{
				"a": {Build: app, Command: command("hang"), Image: "acme/app"},
				"b": {Build: &topology.Build{Context: "app", Args: map[string]string{"A": "1"}}, Command: command("hang")},
				"c": {Image: "acme/app", Command: command("hang")},
				"d": {Build: &topology.Build{Context: "other", Inline: "FROM inline\n"}, Command: command("hang")},
				"e": {Build: &topology.Build{Context: "other", Dockerfile: "../docker/Dockerfile"}, Command: command("hang")},
			},
		}}, b.obs)
		b.want(r, "succeeded")
		slices.Sort(contexts)
		want := []string{
			".runnerhub.Dockerfile: .runnerhub.Dockerfile x", ".runnerhub.Dockerfile: .runnerhub.Dockerfile x",
			"Dockerfile:1 .dockerignore Dockerfile keep.log main.go",
		}
		if diff := cmp.Diff(want, contexts); diff != "" {
			b.Error(diff)
		}
		if got := b.obs.Text(topology.Stdout, "a"); got != "FROM base\n" {
			b.Errorf("the build's log is %q", got)
		}
	})
}

func TestBuildThatFails(t *testing.T) {
	dir := tree(t, map[string]string{"Dockerfile": "FROM base\nRUN false\n"})
	inBubble(t, func(b *bench) {
		spec := &topology.Spec{Image: topologytest.FakeImage, Command: command("ok"), Services: map[string]topology.Service{"a": {Build: &topology.Build{Context: "."}}}}
		r := b.exec.Run(b.Context(), topology.Work{Identity: id, Source: dir, Spec: spec}, b.obs)
		b.want(r, "failed script a")
		if r.Failure == nil || !strings.Contains(r.Failure.Message, "exit code 1") {
			b.Errorf("%+v", r.Failure)
		}
		b.want(b.exec.Run(b.Context(), topology.Work{Identity: id, Spec: spec}, b.obs), "failed spec_invalid")
	})
}

// Files are there before a service starts, with the owner and mode that it asked for.
func TestFilesOfServices(t *testing.T) {
	dir := tree(t, map[string]string{"conf/a": "from a", "conf/deep/b": "from b", "one.txt": "one", "key": "k"})
	inBubble(t, func(b *bench) {
		var got []string
		b.fake.AddProgram("look", func(p *topologytest.FakeProcess) int {
			for _, name := range []string{"/one.txt", "/run/secrets/key", "/motd"} {
				f, _ := p.File(name)
				got = append(got, fmt.Sprintf("%s %o %d:%d %s", name, f.Header.Mode, f.Header.Uid, f.Header.Gid, f.Data))
			}
			<-p.Killed
			return 137
		})
		r := b.exec.Run(b.Context(), topology.Work{Identity: id, Source: dir, Spec: &topology.Spec{
			Image: topologytest.FakeImage, Command: command("ok"), Env: map[string]string{"WORDS": "hello"},
			Volumes: map[string]topology.Volume{"data": {}},
			Secrets: map[string]topology.FileSource{"key": {File: "key"}}, Configs: map[string]topology.FileSource{"motd": {Environment: "WORDS"}},
			Services: map[string]topology.Service{"a": {
				Image: topologytest.FakeImage, Command: command("look"),
				Volumes: []topology.Mount{
					{Type: topology.MountBind, Source: "one.txt", Target: "/one.txt"}, {Type: topology.MountBind, Source: "conf", Target: "/conf", ReadOnly: true},
					{Type: topology.MountBind, Source: "absent", Target: "/absent"}, {Type: topology.MountVolume, Source: "data", Target: "/data"},
					{Type: topology.MountBind, Source: ".", Target: "/code"},
				},
				Secrets: []topology.FileMount{{Source: "key", Target: "/run/secrets/key", UID: "7", GID: "8", Mode: "0400"}},
				Configs: []topology.FileMount{{Source: "motd", Target: "/motd"}},
			}},
		}}, b.obs)
		b.want(r, "succeeded")
		want := []string{"/one.txt 600 0:0 one", "/run/secrets/key 400 7:8 k", "/motd 444 0:0 hello"}
		if diff := cmp.Diff(want, got); diff != "" {
			b.Error(diff)
		}
	})
}

// A service that asks for time has it, and not more.
func TestServicesAreAskedToEnd(t *testing.T) {
	tests := map[string]struct {
		service topology.Service
		signals string
		took    time.Duration
	}{
		"not asked for": {topology.Service{}, "", 0},
		"a signal":      {topology.Service{StopSignal: "SIGINT"}, "SIGINT", 0},
		"a grace":       {topology.Service{StopGrace: topology.Duration(3 * time.Second)}, "SIGQUIT", 0},
		"deaf":          {topology.Service{StopSignal: "SIGUSR1", StopGrace: topology.Duration(3 * time.Second)}, "SIGUSR1", 3 * time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				got := ""
				b.fake.AddProgram("listen", func(p *topologytest.FakeProcess) int {
					for {
						select {
						case s := <-p.Signals:
							if got += s; s != "SIGUSR1" {
								return 0
							}
						case <-p.Killed:
							return 137
						}
					}
				})
				b.fake.AddImage("quits", topology.Image{ID: "sha256:1", OS: "linux", Arch: "amd64", Stop: "SIGQUIT"})
				tt.service.Image, tt.service.Command = "quits", command("listen")
				begin := time.Now()
				b.want(b.run(b.Context(), &topology.Spec{Command: command("ok"), Services: map[string]topology.Service{"a": tt.service}}), "succeeded")
				if took := time.Since(begin); got != tt.signals || took < tt.took || took > tt.took+time.Second {
					b.Errorf("signals %q after %s", got, took)
				}
			})
		})
	}
}
