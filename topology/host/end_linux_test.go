package host_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/host"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// daemons starts, by scripts of a job, what is not to live on; each has the word in its command line.
func daemons(word string) []string {
	stubborn := fmt.Sprintf(`trap "" TERM HUP INT; : %s; while :; do sleep 1; done`, word)
	return []string{
		fmt.Sprintf(`sh -c '%s' >/dev/null 2>&1 &`, stubborn),
		fmt.Sprintf(`(setsid sh -c '%s' >/dev/null 2>&1 &)`, stubborn),             // disowned, in a session of its own
		fmt.Sprintf(`(env -i setsid /bin/sh -c '%s' >/dev/null 2>&1 &)`, stubborn), // and without a mark
		fmt.Sprintf(`setsid sh -c '(setsid sh -c "$1" &)' x '%s'`, stubborn),       // and holding on to the output
	}
}

func TestDaemonsEndWithTheJob(t *testing.T) {
	t.Parallel()
	word := "word" + topology.NewTag()
	script := strings.Join(daemons(word), "\n")
	for name, spec := range map[string]*topology.Spec{
		"command": {Command: []string{"sh", "-c", script + "\nsleep 0.2"}},
		"steps":   {Steps: []topology.Step{{Name: "a", Run: script}, {Name: "b", Run: "sleep 0.2"}}},
		"fails":   {Command: []string{"sh", "-c", script + "\nexit 4"}},
	} {
		t.Run(name, func(t *testing.T) {
			executor := newExecutor(t, host.Options{})
			obs := &topologytest.Observer{}
			r := executor.Run(t.Context(), topology.Work{Identity: identity(), Spec: spec}, obs)
			if name != "fails" {
				wantSuccess(t, r, obs)
			} else {
				wantClass(t, r, topology.ClassScript)
			}
			if err := executor.Close(t.Context()); err != nil {
				t.Error(err)
			}
			noneAlive(t, word)
		})
	}
}

// A cancel asks with SIGTERM first, and kills what does not heed it after the grace.
func TestCancel(t *testing.T) {
	t.Parallel()
	word := "word" + topology.NewTag()
	ready := func(obs *topologytest.Observer, cancel context.CancelCauseFunc) {
		obs.OnLog = func(r topology.Record) error {
			if strings.Contains(string(r.Data), "ready") {
				cancel(topology.ErrCanceled)
			}
			return nil
		}
	}
	for name, tc := range map[string]struct {
		spec *topology.Spec
		says string
		code int
	}{
		"a command that heeds it": {&topology.Spec{Command: []string{"sh", "-c", `trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.05; done`}}, "bye", 7},
		"a step that heeds it":    {&topology.Spec{Steps: []topology.Step{{Name: "a", Run: `trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.05; done`}}}, "bye", 7},
		"who does not": {&topology.Spec{
			Command: []string{"sh", "-c", strings.Join(daemons(word), "\n") + "\ntrap '' TERM; echo ready; while :; do sleep 1; done"},
			Grace:   topology.Duration(200 * time.Millisecond),
		}, "ready", 137},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			executor := newExecutor(t, host.Options{})
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			obs := &topologytest.Observer{}
			ready(obs, cancel)
			r := executor.Run(ctx, topology.Work{Identity: identity(), Spec: tc.spec}, obs)
			if r.Status != topology.Canceled || r.ExitCode == nil || *r.ExitCode != tc.code || !strings.Contains(obs.Text(topology.Stdout, ""), tc.says) {
				t.Errorf("%+v, stdout %q", r, obs.Text(topology.Stdout, ""))
			}
		})
	}
	t.Cleanup(func() { noneAlive(t, word) })
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	executor := newExecutor(t, host.Options{})
	for _, limit := range []string{"timeout", "idle_timeout"} {
		t.Run(limit, func(t *testing.T) {
			t.Parallel()
			r, _ := run(t, executor, "command: [sleep, '1000']\ngrace: 100ms\n"+limit+": 1s")
			if r.Status != topology.TimedOut || r.Failure.Class != topology.ClassTimeout {
				t.Errorf("%+v", r)
			}
		})
	}
}

// What multiplies is held by the limit on processes, and all of it is killed.
func TestForkBomb(t *testing.T) {
	t.Parallel()
	for name, groups := range map[string]bool{"with control groups": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			word := "word" + topology.NewTag()
			executor := newExecutorOn(t, groups)
			r, _ := run(t, executor, fmt.Sprintf(`
command: [sh, -c, "bomb() { : %s; bomb | bomb & }; bomb; sleep 1; echo over; exit 5"]
resources: {pids: 64}
timeout: 60s
`, word))
			if r.Status != topology.Failed {
				t.Errorf("%+v", r)
			}
			if err := executor.Close(t.Context()); err != nil {
				t.Error(err)
			}
			noneAlive(t, word)
		})
	}
}

// A job that kills its supervisor is still ended as a whole.
func TestSupervisorIsKilled(t *testing.T) {
	t.Parallel()
	word := "word" + topology.NewTag()
	own := func() (string, error) { // who may kill it
		if os.Geteuid() == 0 {
			return "root", nil
		}
		return "", nil
	}
	executor := newExecutor(t, host.Options{User: own})
	obs := &topologytest.Observer{}
	spec := &topology.Spec{Command: []string{"sh", "-c", daemons(word)[1] + "\nkill -9 $PPID; : " + word + "; sleep 1000"}}
	r := executor.Run(t.Context(), topology.Work{Identity: identity(), Spec: spec}, obs)
	wantClass(t, r, topology.ClassScript, "SIGKILL")
	if err := executor.Close(t.Context()); err != nil {
		t.Error(err)
	}
	noneAlive(t, word)
}

// The folder goes with everything in it, however the job has closed it.
func TestFolderIsRemoved(t *testing.T) {
	t.Parallel()
	own := func() (string, error) { return map[bool]string{true: "root"}[os.Geteuid() == 0], nil }
	dir := stateDir(t)
	for _, user := range []func() (string, error){asJobUser, own} {
		executor := newExecutor(t, host.Options{Dir: dir, User: user})
		r, obs := run(t, executor, `
steps:
  - run: |
      mkdir -p a/b "$HOME/c" "$TMPDIR/d"
      touch a/b/f "$HOME/c/f" "$(printf 'odd\nname\377 *')" -- -rf '...'
      ln -s / root; ln -s . loop; mkfifo pipe
      i=0; at=.; while [ $i -lt 60 ]; do at=$at/a-rather-long-name-of-a-folder-that-nests; mkdir "$at"; i=$((i+1)); done
      chmod 0444 a/b/f
      chattr +i a/b/f 2>/dev/null || true # only root can
      chmod 0 a/b; chmod 0555 a "$HOME/c"; chmod 0 "$HOME" "$TMPDIR"; chmod 0555 .
`)
		wantSuccess(t, r, obs)
		if err := executor.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if left, err := filepath.Glob(dir + "/*"); err != nil || len(left) > 0 {
			t.Errorf("left %v, %v", left, err)
		}
	}
}
