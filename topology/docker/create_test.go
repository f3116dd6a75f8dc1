package docker

import (
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/topology"
)

// TestResourcesHaveNoSwap: a limit on memory that leaves swap alone is none on memory.
func TestResourcesHaveNoSwap(t *testing.T) {
	t.Parallel()
	pids := int64(7)
	got := resources(topology.Resources{CPUs: 1.5, Memory: 64 << 20, Pids: pids}, map[string]topology.Ulimit{"nofile": {Soft: 1, Hard: 2}, "core": {Soft: -1, Hard: -1}})
	want := container.Resources{
		NanoCPUs: 1_500_000_000, Memory: 64 << 20, MemorySwap: 64 << 20, PidsLimit: &pids,
		Ulimits: []*container.Ulimit{{Name: "core", Soft: -1, Hard: -1}, {Name: "nofile", Soft: 1, Hard: 2}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := resources(topology.Resources{}, nil); got.MemorySwap != 0 || got.PidsLimit != nil {
		t.Errorf("no limits: %+v", got)
	}
}
