package docker

import (
	"context"
	"slices"
	"strings"

	"github.com/distribution/reference"
	"github.com/docker/docker/api/types/image"

	"github.com/runnerhub/runnerhub/topology"
)

// Image describes an image that is present.
func (e *Engine) Image(ctx context.Context, ref string) (topology.Image, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	found, err := e.client.ImageInspect(ctx, ref)
	if err != nil {
		return topology.Image{}, wrap("inspect image "+ref, err)
	}
	arch, variant := goArch(found.Architecture)
	out := topology.Image{ID: found.ID, Digest: digestOf(ref, found), OS: found.Os, Arch: arch, Variant: variant}
	if found.Variant != "" {
		out.Variant = found.Variant
	}
	if c := found.Config; c != nil {
		out.User, out.Env, out.Shell, out.Stop = c.User, c.Env, c.Shell, c.StopSignal
		if h := c.Healthcheck; h != nil && len(h.Test) > 0 {
			out.Health = &topology.Healthcheck{
				Test: slices.Clone(h.Test), Interval: topology.Duration(h.Interval), Timeout: topology.Duration(h.Timeout),
				StartPeriod: topology.Duration(h.StartPeriod), Retries: h.Retries,
			}
		}
	}
	return out, nil
}

// digestOf picks the digest under which ref's own repository knows the image.
func digestOf(ref string, found image.InspectResponse) string {
	named, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return ""
	}
	for _, repoDigest := range found.RepoDigests {
		name, digest, _ := strings.Cut(repoDigest, "@")
		other, err := reference.ParseNormalizedNamed(name)
		if err == nil && other.Name() == named.Name() {
			return digest
		}
	}
	return ""
}
