package docker

import (
	"context"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"github.com/runnerhub/runnerhub/topology"
)

// disk is what is known of the engine's disk.
type disk struct {
	turn chan struct{} // taken by who measures volumes: engines refuse a second one at a time
	root atomic.Pointer[string]
	// What the engine said that it cannot bound; it is not asked again.
	noLayerQuota, noVolumeQuota atomic.Bool
}

func newDisk() *disk { return &disk{turn: make(chan struct{}, 1)} }

// DiskUsage asks for the sizes of the containers' own layers and of the machine's
// volumes. From API 1.42 on that walks through volumes alone; earlier engines have one
// question for everything that they hold.
func (e *Engine) DiskUsage(ctx context.Context, containers []string) (map[string]int64, error) {
	const op = "measure what containers wrote"
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	used, mounted := map[string]int64{}, map[string][]string{}
	volumes := false
	for _, name := range containers {
		state, _, err := e.client.ContainerInspectWithRaw(ctx, name, true)
		if topology.KindOf(wrap(op, err)) == topology.KindNotFound {
			continue
		}
		if err != nil {
			return nil, wrap(op, err)
		}
		used[name] = 0
		if state.ContainerJSONBase != nil && state.SizeRw != nil {
			used[name] = *state.SizeRw
		}
		for _, m := range state.Mounts {
			if m.Type == mount.TypeVolume {
				mounted[name] = append(mounted[name], m.Name)
				volumes = true
			}
		}
	}
	if !volumes {
		return used, nil
	}
	sizes, err := e.volumeSizes(ctx)
	if err != nil {
		return nil, wrap(op, err)
	}
	for name, volumes := range mounted {
		for _, v := range volumes {
			used[name] += sizes[v]
		}
	}
	return used, nil
}

func (e *Engine) volumeSizes(ctx context.Context) (map[string]int64, error) {
	select {
	case e.disk.turn <- struct{}{}:
		defer func() { <-e.disk.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	all, err := e.client.DiskUsage(ctx, types.DiskUsageOptions{Types: []types.DiskUsageObject{types.VolumeObject}})
	if err != nil {
		return nil, err
	}
	sizes := map[string]int64{}
	for _, v := range all.Volumes {
		if v != nil && v.UsageData != nil && v.UsageData.Size > 0 { // -1 is not known
			sizes[v.Name] = v.UsageData.Size
		}
	}
	return sizes, nil
}

// DiskFree looks at the file system that the engine's data are on, where this is the
// engine's machine.
func (e *Engine) DiskFree(context.Context) (int64, error) {
	root := e.disk.root.Load()
	if root == nil || runtime.GOOS != "linux" || !strings.HasPrefix(e.endpoint.Host, "unix://") {
		return -1, nil
	}
	return freeOf(*root), nil
}

// quota creates a container with a quota on the container's own file system, where the
// storage driver has quotas, and else without.
func (e *Engine) quota(host *container.HostConfig, bytes int64, create func() error) error {
	if bytes <= 0 || e.disk.noLayerQuota.Load() {
		return create()
	}
	host.StorageOpt = map[string]string{"size": strconv.FormatInt(bytes, 10)}
	err := create()
	if err == nil || !refusesQuota(err) {
		return err
	}
	e.disk.noLayerQuota.Store(true)
	host.StorageOpt = nil
	return create()
}

// refusesQuota recognizes an engine's words for a limit on disk that it cannot keep.
func refusesQuota(err error) bool {
	words := strings.ToLower(err.Error())
	for _, w := range []string{"storage-opt", "storage opt", "quota", "invalid option"} {
		if strings.Contains(words, w) {
			return true
		}
	}
	return false
}
