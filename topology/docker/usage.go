package docker

import (
	"context"
	"encoding/json"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/runnerhub/runnerhub/topology"
)

// Usage reads a running container's accounts once. Memory is the highest use so
// far under version 1 of control groups; version 2 has no such figure in the
// engine's answer, and the use at this moment stands in for it.
func (e *Engine) Usage(ctx context.Context, name string) (topology.Usage, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	response, err := e.client.ContainerStatsOneShot(ctx, name)
	if err != nil {
		return topology.Usage{}, wrap("read the usage of container "+name, err)
	}
	defer func() { _ = response.Body.Close() }()
	var stats container.StatsResponse
	if err := json.NewDecoder(response.Body).Decode(&stats); err != nil {
		return topology.Usage{}, wrap("read the usage of container "+name, err)
	}
	return topology.Usage{
		CPU:        time.Duration(stats.CPUStats.CPUUsage.TotalUsage),
		MemoryPeak: int64(max(stats.MemoryStats.MaxUsage, stats.MemoryStats.Usage)),
	}, nil
}
