//go:build unix

package runnerctl_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// edited runs policy edit with an editor that is a script; $1 is the file.
func edited(m *machine, stdin, script string) ran {
	m.env["EDITOR"] = "/bin/sh " + m.write("editor.sh", script) // a command with an argument
	return m.with(stdin, "policy", "edit")
}

func TestPolicyEdit(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	// There is no file yet: the editor sees every rule.
	if r := edited(m, "", `grep -q '^# privileged: true' "$1" && echo 'gpus: true' > "$1"`); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	if m.policy() != "gpus: true\n" {
		t.Errorf("the file is %q", m.policy())
	}
	if r := edited(m, "", "true"); r.code != 0 || !strings.Contains(r.stderr, "nothing was changed") {
		t.Errorf("%+v", r)
	}
	if r := edited(m, "", "exit 3"); r.code != 6 || !strings.Contains(r.stderr, "the policy is as it was") {
		t.Errorf("an editor that fails: %+v", r)
	}
	// A mistake keeps the old policy, and the text.
	r := edited(m, "", `echo 'gpu: true' > "$1"`)
	if r.code != 2 || !strings.Contains(r.stderr, "gpu: no such rule; did you mean gpus?") || m.policy() != "gpus: true\n" {
		t.Errorf("%+v; the file is %q", r, m.policy())
	}
	draft := regexp.MustCompile(`your text is in (\S+);`).FindStringSubmatch(r.stderr)
	if draft == nil {
		t.Fatalf("it does not say where the text is: %s", r.stderr)
	}
	t.Cleanup(func() { _ = os.Remove(draft[1]) })
	if text, err := os.ReadFile(draft[1]); err != nil || string(text) != "gpu: true\n" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestPolicyEditAgain(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.tty = true
	// Each time the editor is opened it mends what it wrote before.
	r := edited(m, "\n", `if grep -q 'gpu: true' "$1"; then echo 'gpus: true' > "$1"; else echo 'gpu: true' > "$1"; fi`)
	if r.code != 0 || m.policy() != "gpus: true\n" || !strings.Contains(r.stderr, "edit it again?") {
		t.Errorf("%+v; the file is %q", r, m.policy())
	}
}

func TestPolicyEditMeetsAnotherChange(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("config/policy.yaml", "gpus: true\n")
	other := filepath.Join(m.dir, "config", "policy.yaml")
	r := edited(m, "", `echo 'privileged: true' > "$1"; echo 'docker_socket: true' > `+other)
	if r.code != 5 || m.policy() != "docker_socket: true\n" || !strings.Contains(r.stderr, "your text is in") {
		t.Errorf("%+v; the file is %q", r, m.policy())
	}
	if draft := regexp.MustCompile(`your text is in (\S+);`).FindStringSubmatch(r.stderr); draft != nil {
		_ = os.Remove(draft[1])
	}
}
