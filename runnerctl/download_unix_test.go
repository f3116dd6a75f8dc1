//go:build unix

package runnerctl_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/topology/attempt"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// Whatever is in the way of a file is named, and the others come all the same. Nothing is written outside of the folder.
func TestADownloadGoesAroundWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	m, _ := onHub(t)
	fake := topologytest.NewFake()
	long := strings.Repeat("n", 255) // bytes, the most that a name may have
	files := []string{"out/asked", "out/changed", "out/folder", "out/last", "out/link", "out/" + long, "out/pipe", "through/link"}
	fake.AddProgram("test", func(p *topologytest.FakeProcess) int {
		for _, name := range files {
			p.WriteFile("/workspace/"+name, []byte("kept"))
		}
		return 0
	})
	m.executor = attempt.New(fake, attempt.Options{})
	m.ok("pair", "--label", "box")
	m.runner()
	if r := m.with("image: "+topologytest.FakeImage+"\nsteps: [{run: test}]\nartifacts: [out, through]\n", "submit", "-", "--follow"); r.code != 0 {
		t.Fatalf("submit: %+v", r)
	}
	id := decode[[]mcp.Job](t, m.ok("jobs", "--json"))[0].ID

	dir, outside := t.TempDir(), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	target := filepath.Join(outside, "target")
	for _, err := range []error{
		os.MkdirAll(at("out/folder"), 0o700),
		os.WriteFile(at("out/changed"), []byte("mine"), 0o600),
		os.WriteFile(target, []byte("mine"), 0o600),
		os.Symlink(target, at("out/link")),
		os.Symlink(outside, at("through")),
		syscall.Mkfifo(at("out/pipe"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	r := m.run("download", id, "--dir", dir)
	if got, want := r.stdout, strings.Join([]string{"out/asked", "out/last", "out/" + long}, "\n")+"\n"; got != want {
		t.Errorf("downloaded %q, want %q", got, want)
	}
	const others = "not downloaded: there is another out/changed already\n" +
		"not downloaded: there is a folder out/folder where the file should be\n" +
		"not downloaded: there is a symbolic link out/link already\n" +
		"not downloaded: there is a pipe, socket or device out/pipe already\n" +
		"not downloaded: through/link cannot be written: through is a symbolic link, which leads to no folder or out of this one\n"
	if r.code != mcp.ExitConflict || !strings.HasPrefix(r.stderr, others) || !strings.Contains(r.stderr, "error: 5 of 8 files could not be downloaded\n  hint: download to another folder") {
		t.Errorf("%d, %s", r.code, r.stderr)
	}

	r = m.run("download", id, "--dir", dir, "--force")
	if r.code != mcp.ExitConflict || !strings.Contains(r.stderr, "error: 2 of 8 files could not be downloaded") {
		t.Errorf("--force: %d, %s", r.code, r.stderr)
	}
	for _, name := range []string{"out/" + long, "out/asked", "out/changed", "out/last", "out/link", "out/pipe"} {
		if info, err := os.Lstat(at(name)); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s: %v, error %v", name, info, err)
		} else if got, err := os.ReadFile(at(name)); err != nil || string(got) != "kept" {
			t.Errorf("%s has %q, error %v", name, got, err)
		}
	}
	if got, _ := os.ReadFile(target); string(got) != "mine" {
		t.Errorf("what a link led to has %q", got)
	}
	if left, _ := os.ReadDir(outside); len(left) != 1 {
		t.Errorf("there are %v outside of the folder", left)
	}
	if left, _ := filepath.Glob(at("*/.runnerhub-*")); len(left) > 0 {
		t.Errorf("parts are left: %v", left)
	}
	if r := m.run("download", id, "out/folder", "--dir", dir, "--force"); r.code != mcp.ExitConflict ||
		!strings.HasPrefix(r.stderr, "error: there is a folder out/folder where the file should be\n  hint: ") {
		t.Errorf("one file: %+v", r)
	}
}
