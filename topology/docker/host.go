package docker

import (
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/go-connections/nat"

	"github.com/runnerhub/runnerhub/topology"
)

// more adds to a host configuration what services alone can have.
func more(spec topology.ContainerSpec, config *container.Config, host *container.HostConfig) error {
	host.GroupAdd = spec.GroupAdd
	host.ExtraHosts = hostList(spec.ExtraHosts)
	host.ShmSize = spec.ShmSize
	host.Sysctls = spec.Sysctls
	host.ReadonlyRootfs = spec.ReadOnly
	host.SecurityOpt = spec.SecurityOpt
	host.CapDrop = spec.CapDrop
	for _, m := range spec.Mounts {
		host.Mounts = append(host.Mounts, mount.Mount{Type: mount.Type(m.Type), Source: m.Source, Target: m.Target, ReadOnly: m.ReadOnly})
	}
	return powers(spec.Powers, config, host)
}

// powers adds what reaches beyond the container.
func powers(p topology.Powers, config *container.Config, host *container.HostConfig) error {
	host.Privileged = p.Privileged
	host.CapAdd = p.CapAdd
	host.PidMode = container.PidMode(p.PID)
	host.IpcMode = container.IpcMode(p.IPC)
	host.UTSMode = container.UTSMode(p.UTS)
	host.UsernsMode = container.UsernsMode(p.Userns)
	host.CgroupnsMode = container.CgroupnsMode(p.Cgroup)
	if p.NetworkMode != "" {
		host.NetworkMode = container.NetworkMode(p.NetworkMode)
	}
	if p.UTS == "host" || p.NetworkMode == "host" {
		config.Hostname = "" // the machine's own
	}
	for _, d := range p.Devices {
		parts := strings.SplitN(d, ":", 3)
		host.Devices = append(host.Devices, container.DeviceMapping{PathOnHost: parts[0], PathInContainer: parts[1], CgroupPermissions: parts[2]})
	}
	if p.GPUs != nil {
		host.DeviceRequests = []container.DeviceRequest{{
			Driver: "nvidia", Count: p.GPUs.Count, DeviceIDs: p.GPUs.IDs, Capabilities: [][]string{{"gpu"}},
		}}
	}
	if len(p.Ports) == 0 {
		return nil
	}
	exposed, bindings, err := nat.ParsePortSpecs(p.Ports)
	config.ExposedPorts, host.PortBindings = exposed, bindings
	return err
}

// hostList writes NAME=ADDRESS as engines of all versions read it.
func hostList(hosts []string) []string {
	var all []string
	for _, h := range hosts {
		all = append(all, strings.Replace(h, "=", ":", 1))
	}
	return all
}
