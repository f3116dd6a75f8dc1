package docker

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/docker/docker/api/types/build"
	"github.com/docker/docker/client"

	"github.com/runnerhub/runnerhub/topology"
)

// callTimeout bounds one call of the engine's. It is generous, since a busy disk
// holds a healthy engine for many seconds; one that has frozen is found out sooner
// by pings.
const callTimeout = 2 * time.Minute

// Engine is a topology.Engine on a Docker engine.
type Engine struct {
	client   *client.Client
	endpoint Endpoint
	auth     *credentials
	ooms     *oomCounts
	// signalled has the containers that were sent a signal or removed from here.
	signalled sync.Map
	podman    atomic.Bool // as of the last Info
	// resolvers stand in for the machine's own where containers cannot ask these.
	resolvers []string
	disk      *disk
	// builder is what builds images; "" is the engine's own choice.
	builder build.BuilderVersion
}

var _ topology.Engine = (*Engine)(nil)

// Ping says whether the engine still answers.
func (e *Engine) Ping(ctx context.Context) error {
	_, err := e.client.Ping(ctx)
	return wrap("ping the engine", err)
}

// Close frees the connections.
func (e *Engine) Close() error { return e.client.Close() }

// Info describes the engine.
func (e *Engine) Info(ctx context.Context) (topology.EngineInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	info, err := e.client.Info(ctx)
	if err != nil {
		return topology.EngineInfo{}, wrap("describe the engine", err)
	}
	if info.DockerRootDir != "" {
		e.disk.root.Store(&info.DockerRootDir)
	}
	arch, _ := goArch(info.Architecture)
	engine := engineName(info.Name, info.OperatingSystem, info.ServerVersion)
	e.podman.Store(strings.HasPrefix(engine, "podman "))
	out := topology.EngineInfo{
		Info: topology.Info{
			Engine: engine, Endpoint: e.endpoint.String(),
			OS: info.OSType, Arch: arch,
		},
		Init:     info.InitBinary != "",
		Emulates: emulated(e.endpoint, info.OperatingSystem, arch),
		Routes:   routes(e.endpoint),
	}
	out.Capabilities = []string{"docker", out.OS, out.Arch}
	for name := range info.Runtimes {
		if strings.Contains(name, "nvidia") {
			out.Capabilities = append(out.Capabilities, "gpu")
			break
		}
	}
	return out, nil
}

func engineName(host, system, version string) string {
	name := "docker"
	// Podman tells itself by no field of its own; its version is below Docker's API 1.41 ones.
	if strings.Contains(strings.ToLower(system), "podman") || strings.HasPrefix(version, "4.") || strings.HasPrefix(version, "5.") || strings.HasPrefix(version, "3.") {
		name = "podman"
	}
	out := name + " " + version
	if host != "" {
		out += fmt.Sprintf(" on %s (%s)", host, system)
	}
	return out
}

// goArch turns the kernel's and the engine's words for a processor into Go's.
func goArch(machine string) (arch, variant string) {
	switch machine {
	case "x86_64", "x64":
		return "amd64", ""
	case "aarch64", "armv8", "armv8l":
		return "arm64", ""
	case "armv7l", "armhf", "armv7":
		return "arm", "v7"
	case "armv6l", "armel":
		return "arm", "v6"
	case "i386", "i486", "i586", "i686", "x86":
		return "386", ""
	case "ppc64el":
		return "ppc64le", ""
	}
	return machine, ""
}
