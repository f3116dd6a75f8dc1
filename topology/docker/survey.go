package docker

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/docker/cli/cli/config"

	"github.com/runnerhub/runnerhub/topology"
)

// SurveyEngine looks for an engine as New does and tells everything that it met.
func SurveyEngine(ctx context.Context, opts Options) topology.Survey {
	return survey(ctx, thisHost(), opts)
}

func survey(ctx context.Context, h host, opts Options) topology.Survey {
	out := topology.Survey{OldestAPI: minAPI}
	dir := opts.ConfigDir
	if dir == "" {
		dir = h.configDir()
	}
	out.LogIns = (&credentials{dir: dir}).logIns()
	endpoints, err := h.endpoints(opts.Host)
	if err != nil {
		out.Err = err
		return out
	}
	for _, e := range endpoints {
		found := topology.SurveyedEndpoint{Host: e.Host, Source: e.Source, Chosen: e.Chosen}
		c, err := dial(ctx, e)
		if err != nil {
			found.Err = err
			out.Endpoints = append(out.Endpoints, found)
			var old *tooOldError
			if errors.As(err, &old) {
				return out // New stops there too
			}
			continue
		}
		found.Used = true
		out.Endpoints = append(out.Endpoints, found)
		out.API = c.ClientVersion()
		out.Local = strings.HasPrefix(e.Host, "unix://") || strings.HasPrefix(e.Host, "npipe://")
		if info, err := c.Info(ctx); err == nil {
			out.RootDir = info.DockerRootDir
		}
		_ = c.Close()
		return out
	}
	return out
}

// logIns tries every credential of the configuration. They are fetched, and not shown.
func (c *credentials) logIns() []topology.LogIn {
	file, err := config.Load(c.dir)
	if err != nil {
		return []topology.LogIn{{Registry: c.dir, Err: err}}
	}
	registries := map[string]bool{}
	for name := range file.AuthConfigs {
		registries[name] = true
	}
	for name := range file.CredentialHelpers {
		registries[name] = true
	}
	var out []topology.LogIn
	for _, name := range slices.Sorted(maps.Keys(registries)) {
		auth, err := file.GetAuthConfig(name)
		if err == nil && auth.Username == "" && auth.IdentityToken == "" && auth.RegistryToken == "" {
			err = errors.New("no credentials are kept for it")
		}
		out = append(out, topology.LogIn{Registry: name, Err: err})
	}
	return out
}
