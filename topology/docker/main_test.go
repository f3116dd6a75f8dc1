package docker_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/docker/docker/client"
	"go.uber.org/goleak"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/attempt"
	"github.com/runnerhub/runnerhub/topology/docker"
)

// busybox is an image that make test-setup builds: every applet, no ENTRYPOINT.
const busybox = "runnerhub/busybox:local"

func TestMain(m *testing.M) {
	if err := checkEngine(); err != nil {
		fmt.Fprintf(os.Stderr, "these tests need a Docker engine and test images: %v\nrun: make test-setup\n", err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

func checkEngine() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	_, err = c.ImageInspect(ctx, busybox)
	return err
}

// identity returns one of the test's own, so that tests do not meet in the engine.
func identity(t testing.TB) topology.Identity {
	t.Helper()
	tag := topology.NewTag()
	return topology.Identity{Hub: "test-" + tag, Runner: "rnr-" + tag, Job: "job_" + tag, Attempt: 1, Epoch: 1}
}

// newExecutor returns an executor that is closed with the test, and nothing of
// whose hub may be left then.
func newExecutor(t testing.TB, hub string, opts docker.Options) *attempt.Executor {
	t.Helper()
	if opts.ReadyNetworks == 0 {
		opts.ReadyNetworks = 1 // an engine has few
	}
	executor, err := docker.New(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		if err := executor.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
		noneLeft(t, topology.Filter{Hub: hub})
	})
	return executor
}

// noneLeft fails the test if anything that matches is on the engine.
func noneLeft(t testing.TB, filter topology.Filter) {
	t.Helper()
	engine, err := docker.Connect(context.Background(), docker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = engine.Close() }()
	filter.Images = true
	seen, err := engine.Observe(context.Background(), filter)
	if err != nil {
		t.Fatal(err)
	}
	if seen.Count().Total() != 0 {
		t.Errorf("left on the engine: %+v", seen)
	}
}
