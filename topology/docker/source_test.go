package docker_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/docker"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// A job starts in its source and owns it, whoever it runs as.
func TestJobStartsInItsSource(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, err := range []error{
		os.MkdirAll(filepath.Join(dir, "src/deep"), 0o755),
		os.WriteFile(filepath.Join(dir, "src/run.sh"), []byte("#!/bin/sh\necho ran from $(pwd)\n"), 0o755), //nolint:gosec // it is a program
		os.WriteFile(filepath.Join(dir, "text"), []byte("words\n"), 0o600),
		os.Symlink("../text", filepath.Join(dir, "src/link")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	script := sh(`src/run.sh && cat src/link && echo more >> text && touch src/deep/new new && rm src/run.sh && stat -c '%u:%g %a' . src text && id -u`)
	for user, want := range map[string]string{
		"":           "ran from /srv/tree\nwords\n0:0 777\n0:0 755\n0:0 600\n0\n",
		"1000:1001":  "ran from /srv/tree\nwords\n1000:1001 777\n1000:1001 755\n1000:1001 600\n1000\n",
		"nobody":     "ran from /srv/tree\nwords\n65534:65534 777\n65534:65534 755\n65534:65534 600\n65534\n",
		"nobody:100": "ran from /srv/tree\nwords\n65534:100 777\n65534:100 755\n65534:100 600\n65534\n",
	} {
		t.Run("as "+user, func(t *testing.T) {
			t.Parallel()
			id := identity(t)
			e, obs := newExecutor(t, id.Hub, docker.Options{}), &topologytest.Observer{}
			spec := &topology.Spec{Image: busybox, User: user, WorkingDir: "/srv/tree", Command: script}
			r := e.Run(t.Context(), topology.Work{Identity: id, Spec: spec, Source: dir}, obs)
			wantResult(t, r, "succeeded 0")
			if got := obs.Text(topology.Stdout, ""); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
	if text, err := os.ReadFile(filepath.Join(dir, "text")); err != nil || string(text) != "words\n" {
		t.Errorf("the job changed the machine's copy: %q, %v", text, err)
	}
}
