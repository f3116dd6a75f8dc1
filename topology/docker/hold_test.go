package docker_test

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/docker"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// text collects output.
type text struct {
	mu  sync.Mutex
	out map[topology.Stream]string
}

func (x *text) write(s topology.Stream, data []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.out == nil {
		x.out = map[topology.Stream]string{}
	}
	x.out[s] += string(data)
}

func (x *text) of(s topology.Stream) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.out[s]
}

// lookInto runs a spec that fails and calls look while it is held.
func lookInto(t *testing.T, spec *topology.Spec, look func(topology.Inside)) topology.Result {
	t.Helper()
	id := identity(t)
	e := newExecutor(t, id.Hub, docker.Options{})
	var in topology.Inside
	held := false
	work := topology.Work{
		Identity: id, Spec: spec, Enter: func(i topology.Inside) { in = i },
		Hold: func(_ context.Context, r topology.Result) {
			held = true
			if r.Status != topology.Failed || r.Failure == nil {
				t.Errorf("held as %+v", r)
			}
			look(in)
		},
	}
	r := e.Run(t.Context(), work, &topologytest.Observer{})
	if !held {
		t.Fatalf("not held: %+v", r.Failure)
	}
	if l, err := e.Sweep(t.Context(), id.Hub, id.Runner, nil); err != nil || l.Total() != 0 {
		t.Errorf("left behind: %+v, %v", l, err)
	}
	if _, err := in.Exec(t.Context(), "", topology.ExecSpec{Argv: []string{"true"}}, nil); err == nil {
		t.Error("a command runs after the attempt")
	}
	return r
}

func run(t *testing.T, in topology.Inside, service string, spec topology.ExecSpec) (topology.Exit, string) {
	t.Helper()
	var out text
	exit, err := in.Exec(t.Context(), service, spec, out.write)
	if err != nil {
		t.Fatalf("%v in %q: %v", spec.Argv, service, err)
	}
	return exit, out.of(topology.Stdout) + out.of(topology.Stderr)
}

func TestAFailedJobCanBeLookedInto(t *testing.T) {
	t.Parallel()
	spec := &topology.Spec{
		Image: busybox, Steps: []topology.Step{{Name: "break", Run: "echo left > file; exit 3"}},
		Services: map[string]topology.Service{"db": {Image: busybox, Command: sh("echo up; exec sleep 1000"), Environment: map[string]string{"ROLE": "db"}}},
	}
	r := lookInto(t, spec, func(in topology.Inside) {
		exit, said := run(t, in, "", topology.ExecSpec{Argv: sh(`cat file; cat; echo "$A $(id -u) $(pwd)"; exit 7`), Env: []string{"A=b"}, User: "1000", WorkingDir: "/workspace", Stdin: []byte("given\n")})
		if exit.Code != 7 || said != "left\ngiven\nb 1000 /workspace\n" {
			t.Errorf("%+v, %q", exit, said)
		}
		if _, said := run(t, in, "db", topology.ExecSpec{Argv: sh(`echo "$ROLE"`)}); said != "db\n" {
			t.Errorf("in the service: %q", said)
		}
		if exit, _ := run(t, in, "", topology.ExecSpec{Argv: []string{"no-such-program"}}); exit.Code != 127 {
			t.Errorf("a program that is not there: %+v", exit)
		}
		_, err := in.Exec(t.Context(), "cache", topology.ExecSpec{Argv: sh("true")}, nil)
		if topology.KindOf(err) != topology.KindNotFound || !strings.Contains(err.Error(), "db") {
			t.Errorf("a service that there is not: %v", err)
		}
		killed(t, in)
		copied(t, in)
	})
	wantResult(t, r, "failed script 3 job")
}

// killed has a command that never ends, and ignores everything, ended at its time limit with all that it has started.
func killed(t *testing.T, in topology.Inside) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	late := errors.New("too late")
	var out text
	ready := make(chan struct{})
	once := sync.OnceFunc(func() { close(ready) })
	go func() {
		<-ready
		cancel(late)
	}()
	_, err := in.Exec(ctx, "", topology.ExecSpec{Argv: sh(`trap '' TERM INT HUP; sleep 987 & echo ready; while :; do sleep 986; done`)}, func(s topology.Stream, data []byte) {
		out.write(s, data)
		once()
	})
	if !errors.Is(err, late) || out.of(topology.Stdout) != "ready\n" {
		t.Errorf("%v, %q", err, out.of(topology.Stdout))
	}
	if _, said := run(t, in, "", topology.ExecSpec{Argv: sh(`ps | grep -c 'sleep 98[67]'`)}); said != "0\n" {
		t.Errorf("%s of its processes are left", strings.TrimSpace(said))
	}
}

// copied moves a file in and out.
func copied(t *testing.T, in topology.Inside) {
	t.Helper()
	if err := in.CopyTo(t.Context(), "", "/workspace", tarball(t, map[string][]byte{"in/file": []byte("from outside\n")})); err != nil {
		t.Fatal(err)
	}
	out, err := in.CopyFrom(t.Context(), "", "/workspace/in")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	for r := tar.NewReader(out); ; {
		h, err := r.Next()
		if err != nil {
			t.Fatalf("the file is not in the archive: %v", err)
		}
		if h.Name != "in/file" {
			continue
		}
		if data, err := io.ReadAll(r); err != nil || string(data) != "from outside\n" {
			t.Errorf("%q, %v", data, err)
		}
		return
	}
}

// The container of a command ends with it; one of the same image and workspace stands in for it.
func TestAFailedCommandCanBeLookedInto(t *testing.T) {
	t.Parallel()
	spec := &topology.Spec{Image: busybox, Env: map[string]string{"A": "job"}, Command: sh("echo left > file; exit 4")}
	r := lookInto(t, spec, func(in topology.Inside) {
		if _, said := run(t, in, "", topology.ExecSpec{Argv: sh(`cat file; echo "$A $(pwd)"`)}); said != "left\njob /workspace\n" {
			t.Errorf("%q", said)
		}
	})
	wantResult(t, r, "failed script 4 job")
}

// An image without a shell runs commands too, and what never ends goes with the container.
func TestAServiceWithoutAShellCanBeLookedInto(t *testing.T) {
	t.Parallel()
	image := importImage(t, shellFiles(t))
	spec := &topology.Spec{
		Image: busybox, Command: sh("exit 5"),
		Services: map[string]topology.Service{"bare": {Image: image, Entrypoint: []string{"/bin/busybox"}, Command: []string{"sleep", "1000"}}},
	}
	lookInto(t, spec, func(in topology.Inside) {
		if exit, said := run(t, in, "bare", topology.ExecSpec{Argv: []string{"/bin/busybox", "echo", "hello"}}); exit.Code != 0 || said != "hello\n" {
			t.Errorf("%+v, %q", exit, said)
		}
	})
}

// What a job runs can be looked at while it does, where its spec says so.
func TestARunningJobCanBeLookedInto(t *testing.T) {
	t.Parallel()
	id := identity(t)
	e := newExecutor(t, id.Hub, docker.Options{})
	entered := make(chan topology.Inside, 1)
	work := topology.Work{
		Identity: id, Enter: func(in topology.Inside) { entered <- in },
		Spec: &topology.Spec{Image: busybox, Exec: true, Steps: []topology.Step{{Name: "wait", Run: "echo $$ > pid; until [ -e go ]; do sleep 0.05; done"}}},
	}
	done := make(chan topology.Result, 1)
	go func() { done <- e.Run(t.Context(), work, &topologytest.Observer{}) }()
	select {
	case in := <-entered:
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if exit, err := in.Exec(ctx, "", topology.ExecSpec{Argv: sh("touch go")}, nil); err != nil || exit.Code != 0 {
			t.Errorf("%+v, %v", exit, err)
		}
	case r := <-done:
		t.Fatalf("the job ended first: %+v", r)
	}
	wantResult(t, <-done, "succeeded 0")
}
