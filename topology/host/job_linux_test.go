package host_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/host"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

func TestSteps(t *testing.T) {
	t.Parallel()
	r, obs := run(t, newExecutor(t, host.Options{}), `
steps:
  - {name: build, run: "echo made > made; echo out; echo err >&2", env: {GREETING: hi}}
  - {name: test, run: "cat made; exit 3"}
  - {name: never, run: "echo never"}
  - {name: after, run: "echo cleaned", always: true}
`)
	wantClass(t, r, topology.ClassScript, "step test exited with code 3")
	if got := obs.Text(topology.Stdout, ""); got != "out\nmade\ncleaned\n" {
		t.Errorf("stdout %q", got)
	}
	if got := obs.Text(topology.Stderr, ""); got != "err\n" {
		t.Errorf("stderr %q", got)
	}
	var steps []string
	for _, s := range r.Steps {
		steps = append(steps, s.Name+" "+s.Status)
	}
	if diff := cmp.Diff([]string{"build succeeded", "test failed", "never skipped", "after succeeded"}, steps); diff != "" {
		t.Error(diff)
	}
	if r.Images != nil || r.Usage.CPU <= 0 || r.Usage.MemoryPeak <= 0 || r.Usage.Wall <= 0 {
		t.Errorf("images %v, usage %+v", r.Images, r.Usage)
	}
}

// A command has figures too, however short it is.
func TestUsageOfACommand(t *testing.T) {
	t.Parallel()
	r, obs := run(t, newExecutor(t, host.Options{}), `command: [sh, -c, "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"]`)
	wantSuccess(t, r, obs)
	if r.Usage.CPU < time.Millisecond || r.Usage.CPU > time.Minute || r.Usage.MemoryPeak < 64<<10 {
		t.Errorf("usage %+v", r.Usage)
	}
}

// The environment is the job's and nothing of the runner's.
func TestEnvironment(t *testing.T) {
	for _, secret := range []string{"RUNNERCTL_API_KEY", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "SOMETHING_ELSE"} {
		t.Setenv(secret, "a secret of the runner's")
	}
	dir := stateDir(t)
	r, obs := run(t, newExecutor(t, host.Options{Dir: dir}), `
command: [env]
env: {GREETING: "a  b", LANG: C}
`)
	wantSuccess(t, r, obs)
	var got []string
	for line := range strings.Lines(obs.Text(topology.Stdout, "")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch at, ok := strings.CutPrefix(value, dir); {
		case ok:
			_, at, _ = strings.Cut(strings.TrimPrefix(at, "/"), "/")
			value = "DIR/" + at
		case name == "RUNNERHUB_JOB_ID" || name == "RUNNERHUB_HOST_MARK" || name == "USER" || name == "LOGNAME":
			value = "?"
		}
		got = append(got, name+"="+value)
	}
	slices.Sort(got)
	want := []string{
		"CI=true", "GREETING=a  b", "HOME=DIR/root/home", "LANG=C", "LOGNAME=?",
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "PWD=DIR/root/workspace",
		"RUNNERHUB_ATTEMPT=1", "RUNNERHUB_HOST_MARK=?", "RUNNERHUB_JOB_ID=?", "RUNNERHUB_OUTPUT=DIR/root/tmp/runnerhub-output",
		"SHELL=/bin/sh", "TERM=dumb", "TMPDIR=DIR/root/tmp", "USER=?",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A job starts with no files of the runner's open, in a session and group of its own, as the right user.
func TestProcessIsItsOwn(t *testing.T) {
	t.Parallel()
	r, obs := run(t, newExecutor(t, host.Options{}), `
steps:
  - run: |
      ls /proc/$$/fd | tr '\n' ' '; echo
      id -un
      cut -d' ' -f6 /proc/$$/stat
      grep NoNewPrivs /proc/$$/status
      umask
`)
	wantSuccess(t, r, obs)
	lines := strings.Split(obs.Text(topology.Stdout, ""), "\n")
	own, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	session := strings.Fields(string(own[bytes.LastIndexByte(own, ')')+2:]))[3]
	if lines[0] != "0 1 2 " || jobUser() != "" && lines[1] != jobUser() || lines[2] == session || lines[3] != "NoNewPrivs:\t1" || lines[4] != "0022" {
		t.Errorf("%q; the runner's session is %s", lines, session)
	}
}

// What a job starts with and what it leaves are as in a container.
func TestFilesInAndOut(t *testing.T) {
	t.Parallel()
	source, kept := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"run.sh": "#!/bin/sh\necho ran > out/ran.txt\n", "deep/er/x": "x"} {
		path := filepath.Join(source, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("deep/er", filepath.Join(source, "link")); err != nil {
		t.Fatal(err)
	}
	spec := parse(t, `
source: {files: {unused: x}}
steps:
  - run: |
      mkdir out closed; ./run.sh; cat link/x
      echo 'n=7' >> "$RUNNERHUB_OUTPUT"
      printf '<testsuite name="s"><testcase name="a"/><testcase name="b"><failure/></testcase></testsuite>' > out/r.xml
      ln -s /etc/passwd out/passwd
      mkfifo out/pipe
      echo kept > closed/file; chmod 0 closed/file; chmod 0 closed
artifacts: ["out/*.txt", {path: out/passwd, optional: true}, "closed/*"]
reports: {junit: out/*.xml}
`)
	obs := &topologytest.Observer{}
	r := newExecutor(t, host.Options{}).Run(t.Context(), topology.Work{
		Identity: identity(), Spec: spec, Source: source, Collect: &topology.Collect{Dir: kept},
	}, obs)
	wantSuccess(t, r, obs)
	if got := obs.Text(topology.Stdout, ""); got != "x" {
		t.Errorf("stdout %q", got)
	}
	if diff := cmp.Diff(map[string]string{"n": "7"}, r.Outputs); diff != "" {
		t.Error(diff)
	}
	if r.Tests == nil || r.Tests.Passed != 1 || r.Tests.Failed != 1 || !slices.Equal(r.Tests.Failing, []string{"s.b"}) {
		t.Errorf("tests %+v", r.Tests)
	}
	files := map[string]string{}
	for _, a := range r.Artifacts {
		data, err := os.ReadFile(a.File)
		if err != nil {
			t.Fatal(err)
		}
		files[a.Path] = string(data)
	}
	if diff := cmp.Diff(map[string]string{"out/ran.txt": "ran\n", "closed/file": "kept\n"}, files); diff != "" {
		t.Error(diff)
	}
}

// What a job of the machine's own changed comes back as a patch, too, and its reports are read.
func TestAPatchOfTheMachine(t *testing.T) {
	t.Parallel()
	source, kept := t.TempDir(), filepath.Join(t.TempDir(), "kept")
	if err := os.WriteFile(filepath.Join(source, "a"), []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	spec := parse(t, `
source: {files: {unused: x}}
steps: [{run: "echo two > a; chmod +x a; mkdir .git; touch .git/config; printf 'not ok 1 - x\\n1..1\\n' > r.tap"}]
reports: r.tap
collect: patch
`)
	obs := &topologytest.Observer{}
	r := newExecutor(t, host.Options{}).Run(t.Context(), topology.Work{
		Identity: identity(), Spec: spec, Source: source, Collect: &topology.Collect{Dir: kept},
	}, obs)
	wantSuccess(t, r, obs)
	if r.Tests == nil || !slices.Equal(r.Tests.Failing, []string{"x"}) {
		t.Errorf("tests %+v", r.Tests)
	}
	if len(r.Artifacts) != 1 || r.Artifacts[0].Name != topology.PatchName {
		t.Fatalf("%+v", r.Artifacts)
	}
	text, err := os.ReadFile(r.Artifacts[0].File)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"new mode 100755\n", "-one\n+two\n", "+++ b/r.tap\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(string(text), ".git") || *r.Changes != (topology.Changes{Added: 1, Modified: 1}) {
		t.Errorf("%+v\n%s", r.Changes, text)
	}
}

func TestJobsThatCannotRun(t *testing.T) {
	t.Parallel()
	executor := newExecutor(t, host.Options{})
	for spec, words := range map[string]string{
		"command: [/no/such/program]":                  "This machine cannot run the job's command",
		"command: [no-such-program]":                   "no such program in /usr/local/sbin",
		"steps: [{run: x}]\nshell: [/bin/no-such, -c]": "This machine has no /bin/no-such",
	} {
		r, _ := run(t, executor, spec)
		wantClass(t, r, topology.ClassSpecInvalid, words)
	}
	r, _ := run(t, executor, "command: [sleep, '1000']\nulimits: {nofile: 9007199254740992}")
	if os.Geteuid() != 0 { // who may raise a limit gets it as far as the kernel goes
		wantClass(t, r, topology.ClassSpecInvalid, "nofile")
	} else if r.Status != topology.Failed {
		t.Errorf("%+v", r)
	}
}

// Whom jobs run as is the owner's to say, and the superuser's jobs run as nobody by default.
func TestUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		executor := newExecutor(t, host.Options{User: func() (string, error) { return "", nil }})
		r, _ := run(t, executor, "command: [id]")
		wantClass(t, r, topology.ClassPolicyDenied, "host_user", "root")
		info, err := executor.Probe(t.Context())
		if err != nil || slices.Contains(info.Capabilities, "host") {
			t.Errorf("%+v, %v", info, err)
		}
	}
	executor := newExecutor(t, host.Options{User: func() (string, error) { return "no-such-user", nil }})
	r, _ := run(t, executor, "command: [id]")
	wantClass(t, r, topology.ClassPolicyDenied, "no-such-user", "host_user")

	info, err := newExecutor(t, host.Options{}).Probe(t.Context())
	if err != nil || !slices.Contains(info.Capabilities, "host") || slices.Contains(info.Capabilities, "docker") {
		t.Errorf("%+v, %v", info, err)
	}
}
