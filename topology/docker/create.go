package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/volume"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/runnerhub/runnerhub/topology"
)

// noHostAddress keeps the machine itself off an internal network: engines forward
// nothing from one, but its bridge has an address that all of the machine's own
// services can be reached at.
const noHostAddress = "com.docker.network.bridge.inhibit_ipv4"

// CreateNetwork makes a bridge network.
func (e *Engine) CreateNetwork(ctx context.Context, spec topology.NetworkSpec) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	noIPv6 := false // an address of that family would lead past what is blocked; some engines give one unless told
	options := network.CreateOptions{Driver: "bridge", Internal: spec.Internal, EnableIPv6: &noIPv6, Labels: spec.Labels}
	if spec.Subnet != "" {
		options.IPAM = &network.IPAM{Config: []network.IPAMConfig{{Subnet: spec.Subnet}}}
	}
	if spec.Internal {
		options.Options = map[string]string{noHostAddress: "true"}
	}
	_, err := e.client.NetworkCreate(ctx, spec.Name, options)
	return wrap("create network "+spec.Name, err)
}

// CreateVolume makes a local volume.
func (e *Engine) CreateVolume(ctx context.Context, spec topology.VolumeSpec) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	options := volume.CreateOptions{Name: spec.Name, Labels: spec.Labels}
	if spec.Limit > 0 && !e.disk.noVolumeQuota.Load() {
		options.DriverOpts = map[string]string{"size": strconv.FormatInt(spec.Limit, 10)}
	}
	_, err := e.client.VolumeCreate(ctx, options)
	if err != nil && options.DriverOpts != nil && refusesQuota(err) {
		e.disk.noVolumeQuota.Store(true)
		options.DriverOpts = nil
		_, err = e.client.VolumeCreate(ctx, options)
	}
	return wrap("create volume "+spec.Name, err)
}

// CreateContainer makes a container. Its output is read as it runs; the engine keeps
// the last of it too, for the case that who reads it is killed.
func (e *Engine) CreateContainer(ctx context.Context, spec topology.ContainerSpec) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	config := &container.Config{
		Hostname: spec.Hostname, Image: spec.Image, User: spec.User, WorkingDir: spec.WorkingDir,
		Entrypoint: spec.Entrypoint, Cmd: spec.Command, Env: spec.Env, Labels: spec.Labels,
		OpenStdin: spec.OpenStdin, AttachStdout: true, AttachStderr: true,
		// Healthchecks are run by us, sooner than an engine would.
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
	}
	hostConfig := &container.HostConfig{
		LogConfig:   e.logConfig(),
		NetworkMode: "none",
		Tmpfs:       spec.Tmpfs,
		DNS:         spec.Resolvers,
		Resources:   resources(spec.Resources, spec.Ulimits),
	}
	if spec.Init {
		hostConfig.Init = &spec.Init
	}
	for _, dir := range slices.Sorted(maps.Keys(spec.Volumes)) {
		hostConfig.Mounts = append(hostConfig.Mounts, mount.Mount{Type: mount.TypeVolume, Source: spec.Volumes[dir], Target: dir})
	}
	if err := more(spec, config, hostConfig); err != nil {
		return wrap("create container "+spec.Name, err)
	}
	var networking *network.NetworkingConfig
	if spec.NetworkOf != "" {
		hostConfig.NetworkMode = container.NetworkMode("container:" + spec.NetworkOf)
		if spec.NoMetadata { // the other one has the rest of it
			dropRawSockets(hostConfig)
		}
	}
	if spec.Network != "" {
		hostConfig.NetworkMode = container.NetworkMode(spec.Network)
		endpoint := &network.EndpointSettings{Aliases: spec.Aliases}
		if spec.NoMetadata {
			e.blockMetadata(hostConfig, endpoint)
		}
		networking = &network.NetworkingConfig{EndpointsConfig: map[string]*network.EndpointSettings{spec.Network: endpoint}}
	}
	err := e.quota(hostConfig, spec.Resources.Disk, func() error {
		_, err := e.client.ContainerCreate(ctx, config, hostConfig, networking, platform(spec.Platform), spec.Name)
		return err
	})
	return wrap("create container "+spec.Name, err)
}

func resources(r topology.Resources, ulimits map[string]topology.Ulimit) container.Resources {
	out := container.Resources{Memory: r.Memory, NanoCPUs: int64(r.CPUs * 1e9)}
	for _, name := range slices.Sorted(maps.Keys(ulimits)) {
		out.Ulimits = append(out.Ulimits, &container.Ulimit{Name: name, Soft: ulimits[name].Soft, Hard: ulimits[name].Hard})
	}
	if r.Memory > 0 {
		out.MemorySwap = r.Memory // the limit is one on memory, not on memory plus swap
	}
	if r.Pids > 0 {
		out.PidsLimit = &r.Pids
	}
	return out
}

func platform(p string) *ocispec.Platform {
	parts := strings.SplitN(p, "/", 3)
	if len(parts) < 2 {
		return nil
	}
	out := &ocispec.Platform{OS: parts[0], Architecture: parts[1]}
	if len(parts) == 3 {
		out.Variant = parts[2]
	}
	return out
}

// OpenDir lets every user write to dir, as a directory entry of an archive that
// the engine unpacks: it needs no program of the image's.
func (e *Engine) OpenDir(ctx context.Context, name, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := e.openDir(ctx, name, dir)
	if err != nil && strings.Contains(err.Error(), "cannot overwrite non-directory") {
		// The image has a link of that name; a volume is mounted where it leads.
		if stat, statErr := e.client.ContainerStatPath(ctx, name, dir); statErr == nil && stat.LinkTarget != "" {
			err = e.openDir(ctx, name, stat.LinkTarget)
		}
	}
	return wrap("open directory "+dir+" of container "+name, err)
}

func (e *Engine) openDir(ctx context.Context, name, dir string) error {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: strings.TrimPrefix(path.Clean(dir), "/") + "/", Mode: 0o777})
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = e.client.CopyToContainer(ctx, name, "/", &archive, container.CopyToContainerOptions{})
	}
	return err
}
