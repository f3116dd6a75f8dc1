package docker

import (
	"context"

	"github.com/docker/docker/api/types/build"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/attempt"
)

// Options say which engine to use and how; zero values mean the defaults.
type Options struct {
	// Host is the engine's address (unix:///path, tcp://host:port, ssh://user@host,
	// npipe:////./pipe/name). Empty finds one: DOCKER_HOST, the active Docker context,
	// then the usual sockets of Docker, rootless Docker, Docker Desktop and Podman.
	Host string
	// ConfigDir is where the Docker configuration with the registries' log-ins is;
	// empty is DOCKER_CONFIG or ~/.docker.
	ConfigDir string
	// Builder is "1" for the classic builder, "2" for BuildKit, and empty for the
	// engine's own choice.
	Builder string

	attempt.Options
}

// New finds an engine, agrees on an API version with it, and returns an executor
// of attempts on it. The error says where it looked and why that would not do; its
// kind is topology.KindUnavailable where no engine answered.
func New(ctx context.Context, opts Options) (*attempt.Executor, error) {
	engine, err := Connect(ctx, opts)
	if err != nil {
		return nil, err
	}
	executor := attempt.New(engine, opts.Options)
	if _, err := executor.Probe(ctx); err != nil {
		_ = engine.Close()
		return nil, err
	}
	return executor, nil
}

// Connect finds an engine as New does and returns it alone.
func Connect(ctx context.Context, opts Options) (*Engine, error) {
	return connectFrom(ctx, thisHost(), opts)
}

func connectFrom(ctx context.Context, h host, opts Options) (topologyEngine *Engine, err error) {
	endpoints, err := h.endpoints(opts.Host)
	if err != nil {
		return nil, &topology.EngineError{Kind: topology.KindUnavailable, Op: "find the Docker engine", Err: err}
	}
	client, found, err := connect(ctx, endpoints)
	if err != nil {
		return nil, err
	}
	dir := opts.ConfigDir
	if dir == "" {
		dir = h.configDir()
	}
	return &Engine{client: client, endpoint: found, auth: &credentials{dir: dir}, ooms: &oomCounts{}, resolvers: resolversBeside(found, machineFile), builder: build.BuilderVersion(opts.Builder), disk: newDisk()}, nil
}
