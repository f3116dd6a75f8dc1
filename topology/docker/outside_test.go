package docker_test

import (
	"slices"
	"testing"

	"github.com/docker/docker/api/types/container"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/docker"
)

// TestEngineEndsTheJob has the engine end a job's container or its service's, as it
// does with all of them when it is stopped. A job that ends itself by the same signal is its own fault.
func TestEngineEndsTheJob(t *testing.T) {
	t.Parallel()
	id := identity(t)
	e := newExecutor(t, id.Hub, docker.Options{})
	ready := "trap 'exit 143' TERM; echo ready; while :; do sleep 0.05; done"
	for name, tt := range map[string]struct {
		spec topology.Spec
		role string // of the container that is stopped; "" is none
		want string
	}{
		"command": {topology.Spec{Command: sh(ready)}, topology.RoleJob, "failed docker_unavailable 143 SIGTERM job"},
		"steps":   {topology.Spec{Steps: []topology.Step{{Name: "a", Run: "echo ready; sleep 1000"}}}, topology.RoleJob, "failed docker_unavailable 137 SIGKILL job"},
		"service": {topology.Spec{Command: sh(ready), Services: map[string]topology.Service{
			"db": {Image: busybox, Command: []string{"sleep", "1000"}},
		}}, topology.RoleService, "failed docker_unavailable 143 SIGTERM db"},
		"by itself": {topology.Spec{Command: sh("echo ready; kill -TERM $$")}, "", "failed script 143 SIGTERM job"},
	} {
		spec := tt.spec
		spec.Image = busybox
		obs, said := awaitLog("ready")
		done := make(chan topology.Result, 1)
		own := id
		own.Job += name[:2]
		go func() { done <- e.Run(t.Context(), topology.Work{Identity: own, Spec: &spec}, obs) }()
		<-said
		if tt.role != "" {
			stopLike(t, own, tt.role)
		}
		t.Log(name)
		wantResult(t, <-done, tt.want)
	}
}

// stopLike stops an attempt's container of a role, as an engine does that is about to end.
func stopLike(t *testing.T, id topology.Identity, role string) {
	t.Helper()
	engine, err := docker.Connect(t.Context(), docker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = engine.Close() }()
	seen, err := engine.Observe(t.Context(), id.Filter())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(seen.Containers, func(c topology.ObservedContainer) bool { return c.Labels[topology.LabelRole] == role })
	if i < 0 {
		t.Fatalf("no %s in %+v", role, seen)
	}
	grace := 1
	if err := rawClient(t).ContainerStop(t.Context(), seen.Containers[i].Name, container.StopOptions{Timeout: &grace}); err != nil {
		t.Fatal(err)
	}
}
