package host

import (
	"context"
	"io"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// What only containers have. Parse refuses specs that would need it, so that none of
// this is called for a job; what is asked of resources that could be left finds none.

func noSuch(op, what string) error {
	return faultf(topology.KindInvalid, op, "a job without an image has no %s", what)
}

// Image knows none.
func (e *Engine) Image(_ context.Context, ref string) (topology.Image, error) {
	return topology.Image{}, faultf(topology.KindNotFound, "inspect image "+ref, "there are no images")
}

// Pull is refused.
func (e *Engine) Pull(_ context.Context, ref, _ string, _ func(topology.PullProgress)) error {
	return noSuch("pull "+ref, "images")
}

// Build is refused.
func (e *Engine) Build(_ context.Context, spec topology.BuildSpec, _ io.Reader, _ topology.Output) error {
	return noSuch("build "+spec.Image, "images")
}

// CreateNetwork is refused.
func (e *Engine) CreateNetwork(_ context.Context, spec topology.NetworkSpec) error {
	return noSuch("create network "+spec.Name, "networks")
}

// CreateVolume is refused.
func (e *Engine) CreateVolume(_ context.Context, spec topology.VolumeSpec) error {
	return noSuch("create volume "+spec.Name, "volumes")
}

// NetworkInUse knows none.
func (e *Engine) NetworkInUse(context.Context, string) (bool, error) { return false, nil }

// RemoveNetwork knows none.
func (e *Engine) RemoveNetwork(_ context.Context, name string) error {
	return faultf(topology.KindNotFound, "remove network "+name, "there are no networks")
}

// RemoveVolume knows none.
func (e *Engine) RemoveVolume(_ context.Context, name string) error {
	return faultf(topology.KindNotFound, "remove volume "+name, "there are no volumes")
}

// RemoveImage knows none.
func (e *Engine) RemoveImage(_ context.Context, name string) error {
	return faultf(topology.KindNotFound, "remove image "+name, "there are no images")
}

// WatchMemory has nobody to tell of: only services are listened for, and there are none.
func (e *Engine) WatchMemory(ctx context.Context, _ time.Time, _ func(string)) error {
	<-ctx.Done()
	return context.Cause(ctx)
}
