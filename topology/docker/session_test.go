package docker_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/docker"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// A session keeps the container that its steps have set up, for commands that see each other's files; nobody using it, it ends, and
// what it leaves is kept.
func TestASessionStays(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string][]topology.Step{
		"set up": {{Name: "set up", Run: "echo by a step > first"}},
		"bare":   nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := identity(t)
			e := newExecutor(t, id.Hub, docker.Options{})
			opened := make(chan struct{})
			open := func(bool, time.Time) {
				select {
				case <-opened:
				default:
					close(opened)
				}
			}
			var in topology.Inside
			work := topology.Work{
				Identity: id, Enter: func(i topology.Inside) { in = i }, Used: open, LetGo: make(chan struct{}),
				Collect: &topology.Collect{Dir: t.TempDir()},
				Spec: &topology.Spec{
					Kind: topology.JobSession, Image: busybox, Exec: true, Steps: steps, IdleTimeout: topology.Duration(2 * time.Second),
					Artifacts: []topology.Artifact{{Name: "left", Path: "left/*"}},
				},
			}
			done := make(chan topology.Result, 1)
			go func() { done <- e.Run(t.Context(), work, &topologytest.Observer{}) }()
			select {
			case <-opened:
			case r := <-done:
				t.Fatalf("it ended first: %+v", r)
			}
			run(t, in, "", topology.ExecSpec{Argv: sh("mkdir left; echo one > left/a; [ ! -e first ] || cp first left/")})
			if err := in.CopyTo(t.Context(), "", "/workspace/left", tarball(t, map[string][]byte{"b": []byte("two\n")})); err != nil {
				t.Error(err)
			}
			if exit, said := run(t, in, "", topology.ExecSpec{Argv: sh("cat left/a left/b; pwd")}); exit.Code != 0 || said != "one\ntwo\n/workspace\n" {
				t.Errorf("%+v, %q", exit, said)
			}
			out, err := in.CopyFrom(t.Context(), "", "/workspace/left/b")
			if err != nil {
				t.Fatal(err)
			}
			if data, err := io.ReadAll(out); err != nil || !strings.Contains(string(data), "two\n") {
				t.Errorf("%q, %v", data, err)
			}
			if err := out.Close(); err != nil {
				t.Error(err)
			}
			r := <-done
			wantResult(t, r, "succeeded 0")
			if want := 2 + len(steps); len(r.Artifacts) != want || !strings.Contains(r.Note, "2s") || len(r.Steps) != len(steps) {
				t.Errorf("%d artifacts, want %d; %q, %+v", len(r.Artifacts), want, r.Note, r.Steps)
			}
		})
	}
}

// A session ends at once when somebody ends it, whatever is run in it, and is killed with what runs when it is canceled.
func TestASessionIsEnded(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"let go": "succeeded 0", "canceled": "canceled canceled"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := identity(t)
			e := newExecutor(t, id.Hub, docker.Options{})
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			letGo, entered := make(chan struct{}), make(chan topology.Inside, 1)
			work := topology.Work{
				Identity: id, Enter: func(i topology.Inside) { entered <- i }, LetGo: letGo,
				Spec: &topology.Spec{Kind: topology.JobSession, Image: busybox, Exec: true, IdleTimeout: topology.Duration(time.Hour), Grace: topology.Duration(time.Second)},
			}
			done := make(chan topology.Result, 1)
			go func() { done <- e.Run(ctx, work, &topologytest.Observer{}) }()
			in := <-entered
			begun, ended := make(chan struct{}), make(chan error, 1)
			go func() {
				_, err := in.Exec(context.Background(), "", topology.ExecSpec{Argv: sh("trap '' TERM; echo begun; while :; do sleep 1; done")}, func(topology.Stream, []byte) { close(begun) })
				ended <- err
			}()
			<-begun
			if name == "let go" {
				close(letGo)
			} else {
				cancel(topology.ErrCanceled)
			}
			wantResult(t, <-done, want)
			<-ended
		})
	}
}
