package runnerctl_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/runnerctl/cmd/policy"
)

func TestPolicyIsShownAndSet(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	r := m.run("policy", "show")
	if r.code != 0 || !strings.Contains(r.stderr, "the default policy holds") {
		t.Errorf("%+v", r)
	}
	matchesGolden(t, "policy.txt", r.stdout, nil)
	r = m.run("policy", "set", "images=postgres,acme/*", "ceiling.memory=8GiB")
	if r.code != 0 || !strings.Contains(r.stderr, "is changed") {
		t.Fatalf("%+v", r)
	}
	if got := m.policy(); got != "images:\n  - postgres\n  - acme/*\nceiling:\n  memory: 8GiB\n" {
		t.Errorf("the file is\n%s", got)
	}
	shown := decode[policy.Shown](t, m.ok("policy", "show", "--json"))
	if !shown.Exists || !strings.HasSuffix(shown.Path, "policy.yaml") || !strings.Contains(string(shown.Policy), `"acme/*"`) {
		t.Errorf("%+v", shown)
	}
	if r := m.run("policy", "set", "images+=postgres"); r.code != 0 || !strings.Contains(r.stderr, "already") {
		t.Errorf("what is set already: %+v", r)
	}
	// All or nothing.
	if r := m.run("policy", "set", "gpus=true", "ports=x"); r.code != 2 || !strings.Contains(r.stderr, `"x" is no port`) || strings.Contains(m.policy(), "gpus") {
		t.Errorf("%+v, %s", r, m.policy())
	}
	m.write("config/policy.yaml", "image: [x]\n")
	for _, args := range [][]string{{"show"}, {"set", "gpus=true"}, {"check", "-"}} {
		r := m.run(append([]string{"policy"}, args...)...)
		if r.code != 2 || !strings.Contains(r.stderr, "line 1, column 1: image: no such rule") || !strings.Contains(r.stderr, "policy edit") {
			t.Errorf("%v of a file with a mistake: %+v", args, r)
		}
	}
}

// policy is the machine's policy file.
func (m *machine) policy() string {
	m.t.Helper()
	text, err := os.ReadFile(filepath.Join(m.dir, "config", "policy.yaml"))
	if err != nil {
		m.t.Fatal(err)
	}
	return string(text)
}

func TestPolicyCheck(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("config/policy.yaml", "images: [busybox]\nceiling: {cpus: 2}\n")
	allowed := m.write("allowed.yaml", "image: busybox\n")
	if got := m.ok("policy", "check", allowed); got != "the policy allows this job\n" {
		t.Errorf("%q", got)
	}
	r := m.with("image: alpine\nresources: {cpus: 3}\n", "policy", "check", "-")
	const want = "images: the job's container runs the image docker.io/library/alpine:latest, which is not among those that are allowed\n" +
		"  allow it: runnerctl policy set images+=docker.io/library/alpine\n" +
		"ceiling.cpus: the job asks for 3 cores; the ceiling is 2\n  allow it: runnerctl policy set ceiling.cpus=3\n"
	if r.code != 3 || r.stdout != want {
		t.Errorf("exit code %d\n%s", r.code, r.stdout)
	}
	r = m.with("image: alpine\n", "policy", "check", "-", "--json")
	if c := decode[policy.Checked](t, r.stdout); r.code != 3 || c.Allowed || len(c.Violations) != 1 || c.Violations[0].Rule != "images" {
		t.Errorf("%+v", r)
	}
	if r := m.with("imag: alpine\n", "policy", "check", "-"); r.code != 2 || !strings.Contains(r.stderr, "line 1") {
		t.Errorf("a bad spec: %+v", r)
	}
	if r := m.run("policy", "check", "/nonexistent.yaml"); r.code != 2 {
		t.Errorf("a missing spec: %+v", r)
	}
}
