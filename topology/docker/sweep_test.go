package docker_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/docker"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// victimVariable makes this test binary the runner that TestSweepAfterKill kills.
const victimVariable = "RUNNERHUB_TEST_VICTIM"

// killVictim runs a test of this program that is none of its own, for an attempt, until
// that says that it is ready, and kills it. It returns what was said.
func killVictim(t *testing.T, test, variable string, id topology.Identity) string {
	t.Helper()
	encoded, err := json.Marshal(id)
	if err != nil {
		t.Fatal(err)
	}
	victim := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+test+"$", "-test.timeout=5m")
	victim.Env = append(os.Environ(), variable+"="+string(encoded))
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan() && !strings.Contains(lines.Text(), "victim is ready"); {
		said.WriteString(lines.Text() + "\n")
	}
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait()
	return said.String()
}

// TestVictim is no test of its own: it runs a job with a service until it is killed.
func TestVictim(t *testing.T) {
	var id topology.Identity
	if json.Unmarshal([]byte(os.Getenv(victimVariable)), &id) != nil {
		return // an ordinary test run
	}
	e, err := docker.New(t.Context(), docker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	obs := &topologytest.Observer{OnLog: func(r topology.Record) error {
		_, _ = os.Stdout.Write(r.Data)
		return nil
	}}
	e.Run(t.Context(), topology.Work{Identity: id, Spec: &topology.Spec{
		Image: busybox, Command: sh("echo victim is ready; exec sleep 1000"),
		Services: map[string]topology.Service{"db": {Image: busybox, Command: []string{"sleep", "1000"}}},
	}}, obs)
}

func TestSweepAfterKill(t *testing.T) {
	t.Parallel()
	id, otherHub := identity(t), identity(t)
	stranger := createBare(t, map[string]string{"app": "someone's"})
	neighbour := createBare(t, otherHub.Labels(topology.RoleJob))
	liveID := id
	liveID.Job += "-live"
	live := createBare(t, liveID.Labels(topology.RoleJob))

	killVictim(t, "TestVictim", victimVariable, id)

	engine, err := docker.Connect(t.Context(), docker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = engine.Close() }()
	seen, err := engine.Observe(t.Context(), id.Filter())
	if err != nil || seen.Count() != (topology.Leaks{Containers: 2, Networks: 1, Volumes: 1}) {
		t.Fatalf("the victim left %+v, %v", seen, err)
	}
	e := newExecutor(t, "-", docker.Options{})
	found, err := e.Sweep(t.Context(), id.Hub, id.Runner, []topology.Identity{liveID})
	if err != nil || found.Containers != 2 || found.Volumes != 1 || found.Networks < 1 {
		t.Errorf("the sweep found %+v, %v", found, err)
	}
	noneLeft(t, id.Filter())
	c := rawClient(t)
	for name, who := range map[string]string{"a stranger's": stranger, "another hub's": neighbour, "a live attempt's": live} {
		if _, err := c.ContainerInspect(t.Context(), who); err != nil {
			t.Errorf("%s container: %v", name, err)
		}
	}
}

// createBare creates a container outside of the executor; it goes with the test.
func createBare(t *testing.T, labels map[string]string) string {
	t.Helper()
	c := rawClient(t)
	created, err := c.ContainerCreate(t.Context(), &container.Config{Image: busybox, Cmd: []string{"true"}, Labels: labels}, nil, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = c.ContainerRemove(ctx, created.ID, container.RemoveOptions{Force: true})
	})
	return created.ID
}
