package docker_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/attempt"
	"github.com/runnerhub/runnerhub/topology/docker"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// lone is a job without a network: a container alone is the quickest.
func lone(script string) *topology.Spec {
	return &topology.Spec{Image: busybox, Network: topology.NetworkNone, Command: sh(script)}
}

func TestDiskLimitOfTheSpec(t *testing.T) {
	t.Parallel()
	id := identity(t)
	e := newExecutor(t, id.Hub, docker.Options{})
	// Neither its own files nor those of the workspace are over the limit: both together are.
	spec := lone("head -c 6000000 /dev/zero >/own; head -c 6000000 /dev/zero >/workspace/a; echo written; trap '' TERM; sleep 1000")
	spec.Resources.Disk = 10 << 20
	r := e.Run(t.Context(), topology.Work{Identity: id, Spec: spec}, &topologytest.Observer{})
	wantResult(t, r, "failed disk_full 137 SIGKILL job", "wrote 11.44MiB to disk, over its limit of 10MiB", "resources.disk")
	if r.Usage.DiskPeak != 12_000_000 {
		t.Errorf("usage %+v", r.Usage)
	}
	spec = lone("head -c 6000000 /dev/zero >/workspace/a")
	spec.Resources.Disk = 10 << 20
	r = e.Run(t.Context(), topology.Work{Identity: id, Spec: spec}, &topologytest.Observer{})
	wantResult(t, r, "succeeded 0")
	if r.Usage.DiskPeak != 6_000_000 {
		t.Errorf("usage %+v", r.Usage)
	}
	// A write that finds no room elsewhere than on a disk is the script's own affair.
	r = e.Run(t.Context(), topology.Work{Identity: id, Spec: lone("cat /dev/zero >/dev/shm/a")}, &topologytest.Observer{})
	wantResult(t, r, "failed script 1 job", "a tmpfs, or /dev/shm")
}

func TestFilesOfRootAreNobodysAffair(t *testing.T) {
	t.Parallel()
	id := identity(t)
	e := newExecutor(t, id.Hub, docker.Options{})
	wantResult(t, e.Run(t.Context(), topology.Work{Identity: id, Spec: lone(
		"mkdir -m 700 /workspace/mine; touch /workspace/mine/file; chmod 0 /workspace/mine/file; chmod 700 /workspace; ln -s / /workspace/everything; ln -s ../../../etc /workspace/out",
	)}, &topologytest.Observer{}), "succeeded 0")
	spec := lone("ls -A; touch file && echo mine")
	spec.User = "1000"
	obs := &topologytest.Observer{}
	wantResult(t, e.Run(t.Context(), topology.Work{Identity: id, Spec: spec}, obs), "succeeded 0")
	if got := obs.Text(topology.Stdout, ""); got != "mine\n" {
		t.Errorf("the next job saw %q", got)
	}
}

// TestWorkspaceThatIsALinkOfTheImage has an image lead the workspace elsewhere: what is
// opened to all users is the workspace alone.
func TestWorkspaceThatIsALinkOfTheImage(t *testing.T) {
	t.Parallel()
	files := shellFiles(t, "sh", "stat", "touch", "pwd")
	files["etc/passwd"] = []byte("root:x:0:0::/:/bin/sh\n")
	files["workspace"] = []byte("->etc")
	image, id := importImage(t, files, "ENV PATH=/bin"), identity(t)
	e, obs := newExecutor(t, id.Hub, docker.Options{}), &topologytest.Observer{}
	r := e.Run(t.Context(), topology.Work{Identity: id, Spec: &topology.Spec{
		Image: image, Network: topology.NetworkNone, User: "1000", Command: sh("touch /workspace/file && echo written; stat -c %a / /bin"),
	}}, obs)
	wantResult(t, r, "succeeded 0")
	if got := obs.Text(topology.Stdout, ""); got != "written\n755\n755\n" {
		t.Errorf("%q; %s", got, obs.Text(topology.Stderr, ""))
	}
}

func TestOddPathsAndLongNames(t *testing.T) {
	t.Parallel()
	id := identity(t)
	e, obs := newExecutor(t, id.Hub, docker.Options{}), &topologytest.Observer{}
	service := "a" + strings.Repeat("b", 61) + "c"
	dir := `/odd/ 'one" $HOME:ro,x=y;ü*\`
	r := e.Run(t.Context(), topology.Work{Identity: id, Spec: &topology.Spec{
		Name: strings.Repeat("ü", 128), Image: busybox, User: "1000", WorkingDir: dir, Network: topology.NetworkRestricted,
		Env: map[string]string{strings.Repeat("E", 256): "long"},
		Steps: []topology.Step{{
			Name: strings.Repeat("ß", 127) + "/", Run: "pwd; touch x; nc -w 5 " + service + " 80 </dev/null && echo reached; env | grep -c ^EEEE",
		}},
		Services: map[string]topology.Service{service: {
			Image: busybox, Command: []string{"httpd", "-f", "-p", "80"},
			Healthcheck: &topology.Healthcheck{Test: []string{"CMD-SHELL", "nc -w 1 127.0.0.1 80 </dev/null"}},
		}},
	}}, obs)
	wantResult(t, r, "succeeded 0")
	if got, want := obs.Text(topology.Stdout, ""), dir+"\nreached\n1\n"; got != want {
		t.Errorf("%q, want %q; %s", got, want, obs.Text(topology.Stderr, ""))
	}
}

// TestForkBomb has a job fill its container with processes, and then one off that goes on
// to fork whenever there is room: it fizzles out, or the job ends by its own words.
func TestForkBomb(t *testing.T) {
	t.Parallel()
	id := identity(t)
	e, obs := newExecutor(t, id.Hub, docker.Options{}), &topologytest.Observer{}
	r := e.Run(t.Context(), topology.Work{Identity: id, Spec: &topology.Spec{
		Image: busybox, Network: topology.NetworkNone, Resources: topology.Resources{Pids: 40},
		Ulimits: map[string]topology.Ulimit{"nofile": {Soft: 456, Hard: 456}, "stack": {Soft: 1 << 20, Hard: 2 << 20}},
		Steps: []topology.Step{
			{Name: "limits", Run: "ulimit -n; ulimit -s; ulimit -H -s"},
			{Name: "bomb", Run: "i=0; while [ $i -lt 60 ]; do sleep 1000 & i=$((i+1)); done"},
		},
	}}, obs)
	wantResult(t, r, "failed script 2 job", "its limit is 40 (resources.pids)")
	if got := obs.Text(topology.Stdout, ""); got != "456\n1024\n2048\n" {
		t.Errorf("ulimits %q", got)
	}
	bomb := lone("b() { b | b & }; b; wait; sleep 1")
	bomb.Resources.Pids = 40
	r = e.Run(t.Context(), topology.Work{Identity: id, Spec: bomb}, &topologytest.Observer{})
	if r.Failure != nil && r.Failure.Class != topology.ClassScript {
		t.Errorf("%+v", r.Failure)
	}
}

// quiet is an observer that counts what services write and keeps what the job does.
type quiet struct {
	topologytest.Observer

	service atomic.Int64
}

func (q *quiet) Log(r topology.Record) error {
	if r.Service != "" && r.Stream != topology.System {
		q.service.Add(int64(len(r.Data)))
		return nil
	}
	return q.Observer.Log(r)
}

// TestServiceThatLogsAGigabyte has the job be neither slowed down nor crowded out by it.
func TestServiceThatLogsAGigabyte(t *testing.T) {
	t.Parallel()
	id := identity(t)
	e := newExecutor(t, id.Hub, docker.Options{Options: attempt.Options{LogBurst: 1 << 20, LogRate: 1 << 20}})
	obs := &quiet{}
	r := e.Run(t.Context(), topology.Work{Identity: id, Spec: &topology.Spec{
		Image: busybox, Network: topology.NetworkRestricted,
		Command:  sh("i=0; while [ $i -lt 10 ]; do echo line $i; sleep 0.2; i=$((i+1)); done"),
		Services: map[string]topology.Service{"noisy": {Image: busybox, Command: sh("yes 0123456789abcde | head -c 1073741824; exec sleep 1000")}},
	}}, obs)
	wantResult(t, r, "succeeded 0")
	var want strings.Builder
	for i := range 10 {
		fmt.Fprintf(&want, "line %d\n", i)
	}
	if got := obs.Text(topology.Stdout, ""); got != want.String() {
		t.Errorf("the job's log is %q", got)
	}
	if n := obs.service.Load(); n < 1<<20 || n > 512<<20 {
		t.Errorf("%d bytes of the service were kept", n)
	}
	if got := obs.Text(topology.System, "noisy"); !strings.Contains(got, "slowed down to 1MiB a second") {
		t.Errorf("%q", got)
	}
	if r.Usage.CPU <= 0 || r.Usage.MemoryPeak <= 0 || r.Phases[topology.PhaseRunning] < 2*time.Second {
		t.Errorf("usage %+v, phases %v", r.Usage, r.Phases)
	}
}

// TestHostileBytes has a job write what would steer a terminal, and what is no text.
func TestHostileBytes(t *testing.T) {
	t.Parallel()
	id := identity(t)
	e, obs := newExecutor(t, id.Hub, docker.Options{}), &topologytest.Observer{}
	r := e.Run(t.Context(), topology.Work{Identity: id, Spec: lone(`printf '\033[2J\033]0;title\007 \377\376\000 \303( \r\b\n'; printf 'no end'`)}, obs)
	wantResult(t, r, "succeeded 0")
	if got, want := obs.Text(topology.Stdout, ""), "\x1b[2J\x1b]0;title\a \xff\xfe\x00 \xc3( \r\b\nno end"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestServiceOutOfMemory(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"its main process":                       "sleep 0.5; exec tail /dev/zero",
		"another one, and the main one lives on": "tail /dev/zero; exec sleep 1000",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := identity(t)
			e := newExecutor(t, id.Hub, docker.Options{})
			r := e.Run(t.Context(), topology.Work{Identity: id, Spec: &topology.Spec{
				Image: busybox, Network: topology.NetworkRestricted, Command: []string{"sleep", "1000"}, Grace: topology.Duration(time.Second),
				Services: map[string]topology.Service{"db": {
					Image: busybox, Command: sh(script), Resources: topology.Resources{Memory: 32 << 20},
				}},
			}}, &topologytest.Observer{})
			if r.Failure == nil || r.Failure.Class != topology.ClassOOM || r.Failure.Container != "db" ||
				!strings.Contains(r.Failure.Message, "The service db ran out of its 32MiB of memory") {
				t.Errorf("%+v", r.Failure)
			}
		})
	}
}

// TestEngineIsKilled cuts every connection to the engine under a running job and lets
// no new one be made, as an engine that was killed does.
func TestEngineIsKilled(t *testing.T) {
	t.Parallel()
	f, id := newFreezer(t), identity(t)
	cut, err := docker.New(t.Context(), docker.Options{Host: f.host, Options: attempt.Options{Patience: 3 * time.Second, ReadyNetworks: -1}})
	if err != nil {
		t.Fatal(err)
	}
	obs, ready := awaitLog("ready")
	done := make(chan topology.Result, 1)
	go func() {
		done <- cut.Run(t.Context(), topology.Work{Identity: id, Spec: lone("echo ready; exec sleep 1000")}, obs)
	}()
	select {
	case <-ready:
	case r := <-done:
		t.Fatalf("%+v", r.Failure)
	}
	f.kill()
	r := <-done
	if r.Status != topology.Failed || r.Failure.Class != topology.ClassDockerUnavailable || r.Failure.Hint == "" {
		t.Errorf("%+v: %+v", r.Status, r.Failure)
	}
	if r.Leaks.Containers != 1 {
		t.Errorf("leaks %+v", r.Leaks)
	}
	closing, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := cut.Close(closing); err != nil {
		t.Errorf("close: %v", err)
	}
	e := newExecutor(t, id.Hub, docker.Options{}) // the engine is back
	if found, err := e.Sweep(t.Context(), id.Hub, id.Runner, nil); err != nil || found.Containers != 1 {
		t.Errorf("the sweep found %+v, %v", found, err)
	}
}
