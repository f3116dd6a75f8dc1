package docker_test

import (
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/docker"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

const entrypoint = "runnerhub/entrypoint:local"

func TestImageDefaultsHold(t *testing.T) {
	t.Parallel()
	id := identity(t)
	e, obs := newExecutor(t, id.Hub, docker.Options{}), &topologytest.Observer{}
	r := e.Run(t.Context(), topology.Work{Identity: id, Spec: &topology.Spec{Image: entrypoint}}, obs)
	wantResult(t, r, "succeeded 0")
	// The image has an ENTRYPOINT, a CMD, a USER and an ENV; its WORKDIR gives way to the workspace.
	if got := obs.Text(topology.Stdout, ""); got != "entrypoint default words in /workspace as nobody, GREETING=hello\n" {
		t.Errorf("%q", got)
	}
	if !strings.HasPrefix(r.Images[entrypoint], "sha256:") {
		t.Errorf("%v", r.Images)
	}
	obs = &topologytest.Observer{}
	wantResult(t, e.Run(t.Context(), topology.Work{Identity: id, Spec: &topology.Spec{Image: entrypoint, Command: []string{"my", "own"}}}, obs), "succeeded 0")
	if got := obs.Text(topology.Stdout, ""); !strings.HasPrefix(got, "entrypoint my own in") {
		t.Errorf("%q", got)
	}
}

func TestJobEnvironment(t *testing.T) {
	t.Parallel()
	id := identity(t)
	e, obs := newExecutor(t, id.Hub, docker.Options{}), &topologytest.Observer{}
	r := e.Run(t.Context(), topology.Work{Identity: id, Spec: &topology.Spec{
		Image: busybox, User: "1000:1000", WorkingDir: "/w/x", Env: map[string]string{"A": "b c"},
		Command: sh(`echo "$CI $RUNNERHUB_JOB_ID $RUNNERHUB_ATTEMPT $TERM [$A]"; pwd; id -u; echo x > file && cat file; exit 4`),
	}}, obs)
	wantResult(t, r, "failed script 4 job")
	if got, want := obs.Text(topology.Stdout, ""), "true "+id.Job+" 1 dumb [b c]\n/w/x\n1000\nx\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestSteps(t *testing.T) {
	t.Parallel()
	id := identity(t)
	e, obs := newExecutor(t, id.Hub, docker.Options{}), &topologytest.Observer{}
	r := e.Run(t.Context(), topology.Work{Identity: id, Spec: &topology.Spec{
		Image: entrypoint, User: "1000", Env: map[string]string{"A": "job", "B": "job"},
		Steps: []topology.Step{
			{Name: "write", Run: "echo $A $B > file; export C=gone", Env: map[string]string{"B": "step"}},
			{Name: "leave", Run: "sleep 1000 >/dev/null 2>&1 & echo left"},
			{Name: "fail", Run: "false; echo not reached"},
			{Name: "skip", Run: "echo skipped"},
			{Name: "clean", Run: "cat file; echo [$B] [$C]; exit 9", Always: true},
		},
	}}, obs)
	wantResult(t, r, "failed script 1 job", "step fail")
	var got []string
	for _, s := range r.Steps {
		text := s.Name + " " + s.Status
		if s.ExitCode != nil {
			text += " " + itoa(*s.ExitCode)
		}
		if (s.Status == "skipped") != (s.Duration == 0 && s.StartedAt.IsZero()) {
			t.Errorf("times of %+v", s)
		}
		got = append(got, text)
	}
	if strings.Join(got, ", ") != "write succeeded 0, leave succeeded 0, fail failed 1, skip skipped, clean failed 9" {
		t.Errorf("%v", got)
	}
	if text := obs.Text(topology.Stdout, ""); text != "left\njob step\n[job] []\n" {
		t.Errorf("stdout %q", text)
	}
	if r.Usage.CPU <= 0 || r.Usage.MemoryPeak <= 0 || r.Usage.Wall <= 0 {
		t.Errorf("usage %+v", r.Usage)
	}
	// Every record between a step's boundaries is that step's.
	step := ""
	for _, record := range obs.Records() {
		if record.Stream == topology.System && record.Step != "" {
			step = record.Step
		} else if record.Stream != topology.System && record.Step != step {
			t.Errorf("%q of %q within %q", record.Data, record.Step, step)
		}
	}
}

func TestStepsAsManyAsOneLikes(t *testing.T) {
	t.Parallel()
	id := identity(t)
	e, obs := newExecutor(t, id.Hub, docker.Options{}), &topologytest.Observer{}
	// What steps leave behind is reaped by the init in front: no zombie is left.
	r := e.Run(t.Context(), topology.Work{Identity: id, Spec: &topology.Spec{Image: busybox, Steps: []topology.Step{
		{Name: "1", Run: "(sleep 0.1 &) ; (sleep 0.1 &)"},
		{Name: "2", Run: "sleep 0.5; ps -o stat | grep -c Z || true"},
	}}}, obs)
	wantResult(t, r, "succeeded 0")
	if got := obs.Text(topology.Stdout, ""); got != "0\n" {
		t.Errorf("zombies: %q", got)
	}
}

func TestJobsThatCannotRun(t *testing.T) {
	t.Parallel()
	bare := importImage(t, shellFiles(t), `CMD ["/bin/busybox", "true"]`)
	foreign := loadForeign(t, "arm64")
	step := []topology.Step{{Name: "a", Run: "true"}}
	tests := map[string]struct {
		spec  *topology.Spec
		want  string
		words string
	}{
		"no shell for steps":      {&topology.Spec{Image: bare, Steps: step}, "failed spec_invalid job", "has no /bin/sh"},
		"its command needs none":  {&topology.Spec{Image: bare}, "succeeded 0", ""},
		"no such program":         {&topology.Spec{Image: busybox, Command: []string{"nosuch"}}, "failed spec_invalid 127 job", "nosuch"},
		"no such shell":           {&topology.Spec{Image: busybox, Shell: []string{"python3", "-c"}, Steps: step}, "failed spec_invalid 127 job", "python3"},
		"command not found":       {&topology.Spec{Image: busybox, Steps: []topology.Step{{Name: "a", Run: "nosuch"}}}, "failed script 127 job", "PATH"},
		"not executable":          {&topology.Spec{Image: busybox, Steps: []topology.Step{{Name: "a", Run: "/etc/passwd"}}}, "failed script 126 job", "x permission"},
		"another processor":       {&topology.Spec{Image: foreign, Steps: step}, "failed capability_missing", "is for linux/arm64, but this engine runs linux/amd64"},
		"another platform wanted": {&topology.Spec{Image: busybox, Platform: "linux/s390x", Steps: step}, "failed capability_missing", "linux/s390x"},
		"too little memory":       {&topology.Spec{Image: busybox, Steps: step, Resources: topology.Resources{Memory: 1 << 20}}, "failed spec_invalid", "memory limit"},
		"never pulled":            {&topology.Spec{Image: "runnerhub-test/absent", Pull: topology.PullNever, Steps: step}, "failed image_pull", "pull: never"},
	}
	id := identity(t)
	e := newExecutor(t, id.Hub, docker.Options{})
	for name, tt := range tests {
		r := e.Run(t.Context(), topology.Work{Identity: id, Spec: tt.spec}, &topologytest.Observer{})
		t.Log(name)
		if tt.words == "" {
			wantResult(t, r, tt.want)
		} else {
			wantResult(t, r, tt.want, tt.words)
		}
	}
}

func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	id := identity(t)
	e := newExecutor(t, id.Hub, docker.Options{})
	limits := topology.Resources{Memory: 32 << 20}
	r := e.Run(t.Context(), topology.Work{Identity: id, Spec: &topology.Spec{Image: busybox, Command: []string{"tail", "/dev/zero"}, Resources: limits}}, &topologytest.Observer{})
	wantResult(t, r, "failed oom 137 SIGKILL job", "32MiB")
	// In steps the container lives on, and what comes after can still run.
	obs := &topologytest.Observer{}
	r = e.Run(t.Context(), topology.Work{Identity: id, Spec: &topology.Spec{Image: busybox, Resources: limits, Steps: []topology.Step{
		{Name: "fine", Run: "true"},
		{Name: "greedy", Run: "tail /dev/zero || exit 2"}, // a code that tells nothing
		{Name: "after", Run: "echo still here", Always: true},
	}}}, obs)
	wantResult(t, r, "failed oom 2 job", "step greedy", "32MiB")
	if got := obs.Text(topology.Stdout, ""); got != "still here\n" {
		t.Errorf("%q", got)
	}
	// A kill that memory is not the reason of.
	r = e.Run(t.Context(), topology.Work{Identity: id, Spec: &topology.Spec{Image: busybox, Resources: limits, Steps: []topology.Step{{Name: "a", Run: "kill -9 $$"}}}}, &topologytest.Observer{})
	wantResult(t, r, "failed script 137 SIGKILL job")
}
