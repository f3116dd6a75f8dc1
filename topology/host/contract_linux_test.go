package host_test

import (
	"testing"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/host"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// The engine keeps the contract, but for what takes an image, a network, a volume or a user of a container's
// own, and for a second listener: a job ends with the runner that listens to it.
func TestHostKeepsTheContract(t *testing.T) {
	t.Parallel()
	topologytest.TestEngine(t, "", func(t *testing.T) topology.Engine {
		engine, err := host.Open(stateDir(t), asJobUser)
		if err != nil {
			t.Fatal(err)
		}
		return engine
	}, "images", "resources", "sets", "a shared network", "subnets", "builds", "attaching again", "directory for all users", "files in and out", "disk")
}
