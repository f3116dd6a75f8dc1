package topologytest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFakeKeepsTheContract(t *testing.T) {
	t.Parallel()
	topologytest.TestEngine(t, topologytest.FakeImage, func(*testing.T) topology.Engine { return topologytest.NewFake() })
}
