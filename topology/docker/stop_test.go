package docker_test

import (
	"context"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/docker"
)

func TestStops(t *testing.T) {
	t.Parallel()
	heeds := `trap 'echo cleaning up; exit 5' TERM; echo ready; while :; do sleep 0.1; done`
	ignores := `trap '' TERM; echo ready; while :; do sleep 0.1; done`
	second := topology.Duration(time.Second)
	tests := map[string]struct {
		script string
		steps  bool
		cause  error
		want   string
		said   string
	}{
		"command, canceled":         {heeds, false, topology.ErrCanceled, "canceled canceled 5", "ready\ncleaning up\n"},
		"command, not heeded":       {ignores, false, topology.ErrDraining, "canceled canceled 137 SIGKILL", "ready\n"},
		"command, lease lost":       {heeds, false, topology.ErrStale, "canceled canceled 137 SIGKILL", ""},
		"step, canceled":            {heeds, true, topology.ErrCanceled, "canceled canceled 5", "ready\ncleaning up\n"},
		"step, not heeded":          {ignores, true, topology.ErrCanceled, "canceled canceled 137 SIGKILL", "ready\n"},
		"step, lease lost":          {heeds, true, topology.ErrStale, "canceled canceled 137 SIGKILL", ""},
		"step's child is ended too": {"echo ready; sleep 1000; echo never", true, topology.ErrCanceled, "canceled canceled 143 SIGTERM", "ready\n"},
	}
	id := identity(t)
	e := newExecutor(t, id.Hub, docker.Options{})
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := id
			own.Job += topology.NewTag()
			spec := &topology.Spec{Image: busybox, Command: sh(tt.script), Grace: second}
			if tt.said != "" && tt.said != "ready\n" {
				spec.Grace = 30 * second
			}
			if tt.steps {
				spec.Command, spec.Steps = nil, []topology.Step{{Name: "a", Run: tt.script}, {Name: "b", Run: "echo never", Always: true}}
			}
			obs, ready := awaitLog("ready")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			done := make(chan topology.Result, 1)
			go func() { done <- e.Run(ctx, topology.Work{Identity: own, Spec: spec}, obs) }()
			select {
			case <-ready:
			case r := <-done:
				t.Fatalf("%+v", r)
			}
			cancel(tt.cause)
			wantResult(t, <-done, tt.want)
			if got := obs.Text(topology.Stdout, ""); tt.said != "" && got != tt.said {
				t.Errorf("stdout %q", got)
			}
		})
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	id := identity(t)
	e := newExecutor(t, id.Hub, docker.Options{})
	obs, _ := awaitLog("never")
	r := e.Run(t.Context(), topology.Work{Identity: id, Spec: &topology.Spec{Image: busybox, Command: []string{"sleep", "1000"}, Timeout: topology.Duration(5 * time.Second)}}, obs)
	if r.Status != topology.TimedOut || r.Failure.Class != topology.ClassTimeout {
		t.Errorf("%+v", r)
	}
}
