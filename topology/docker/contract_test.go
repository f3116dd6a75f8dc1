package docker_test

import (
	"testing"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/docker"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

func TestDockerKeepsTheContract(t *testing.T) {
	t.Parallel()
	topologytest.TestEngine(t, busybox, func(t *testing.T) topology.Engine {
		engine, err := docker.Connect(t.Context(), docker.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return engine
	})
}
