package host_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/attempt"
	"github.com/runnerhub/runnerhub/topology/host"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

func TestMain(m *testing.M) {
	if code, was := host.Helper(); was { // of a runner, which is this program too
		os.Exit(code)
	}
	if dir := os.Getenv(victimVariable); dir != "" {
		victim(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// jobUser is whom jobs run as: nobody where the tests run as root.
func jobUser() string {
	if os.Geteuid() == 0 {
		return "nobody"
	}
	return ""
}

func asJobUser() (string, error) { return jobUser(), nil }

// stateDir is a folder that every user can get to, which is empty at the test's end.
func stateDir(t testing.TB) string {
	t.Helper()
	base := t.TempDir()
	for _, dir := range []string{base, filepath.Dir(base)} {
		if err := os.Chmod(dir, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(base, "host")
	t.Cleanup(func() {
		list, err := os.ReadDir(dir)
		if err != nil && !os.IsNotExist(err) {
			t.Error(err)
		}
		for _, d := range list {
			t.Errorf("%s is left", d.Name())
		}
	})
	return dir
}

// identity is one of the test's own.
func identity() topology.Identity {
	tag := topology.NewTag()
	return topology.Identity{Hub: "test-" + tag, Runner: "rnr-" + tag, Job: "job_" + tag, Attempt: 1, Epoch: 1}
}

// newExecutor returns an executor that is closed with the test; nothing is left then.
func newExecutor(t testing.TB, opts host.Options) *attempt.Executor {
	t.Helper()
	if opts.Dir == "" {
		opts.Dir = stateDir(t)
	}
	if opts.User == nil {
		opts.User = asJobUser
	}
	executor, err := host.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	closeWith(t, executor)
	return executor
}

func closeWith(t testing.TB, executor *attempt.Executor) {
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := executor.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
}

// run parses a spec and runs it; both are of the test's own.
func run(t testing.TB, executor topology.Executor, spec string) (topology.Result, *topologytest.Observer) {
	t.Helper()
	obs := &topologytest.Observer{}
	return executor.Run(t.Context(), topology.Work{Identity: identity(), Spec: parse(t, spec)}, obs), obs
}

func parse(t testing.TB, text string) *topology.Spec {
	t.Helper()
	spec, err := topology.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// wantClass fails the test unless the attempt failed with a class, and words in what is told of it.
func wantClass(t testing.TB, r topology.Result, class topology.Class, words ...string) {
	t.Helper()
	if r.Failure == nil || r.Failure.Class != class {
		t.Fatalf("%s, %+v; want %s", r.Status, r.Failure, class)
	}
	for _, w := range words {
		if !strings.Contains(r.Failure.Message+" "+r.Failure.Hint, w) {
			t.Errorf("no %q in %+v", w, r.Failure)
		}
	}
}

func wantSuccess(t testing.TB, r topology.Result, obs *topologytest.Observer) {
	t.Helper()
	if r.Status != topology.Succeeded {
		t.Fatalf("%s, %+v\n%s%s", r.Status, r.Failure, obs.Text(topology.Stdout, ""), obs.Text(topology.Stderr, ""))
	}
}

// alive lists the processes whose command lines have a word of the test's own in them.
func alive(t testing.TB, word string) []string {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, line := range lines {
		if text, err := os.ReadFile(line); err == nil && strings.Contains(string(text), word) {
			found = append(found, line+" "+strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return found
}

// noneAlive fails the test where one is.
func noneAlive(t testing.TB, word string) {
	t.Helper()
	for _, p := range alive(t, word) {
		t.Errorf("still there: %s", p)
	}
}

// program is a program of this machine's, which the tests cannot do without.
func program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
