package docker

import (
	"fmt"

	"github.com/distribution/reference"
	"github.com/docker/cli/cli/config"
	"github.com/docker/docker/api/types/registry"
)

// credentials are the log-ins of a Docker configuration: config.json and the
// credential helpers that it names. It is read anew for every pull, so that a
// docker login counts at once.
type credentials struct{ dir string }

// hubKey is what the Docker command files log-ins to Docker Hub under.
const hubKey = "https://index.docker.io/v1/"

// forImage returns the header that proves who pulls ref, and whether there is a
// log-in for its registry at all.
func (c *credentials) forImage(ref string) (header string, known bool, err error) {
	named, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return "", false, fmt.Errorf("%q is no image reference: %w", ref, err)
	}
	key := reference.Domain(named)
	if key == "docker.io" {
		key = hubKey
	}
	file, err := config.Load(c.dir)
	if err != nil {
		return "", false, err
	}
	found, err := file.GetAuthConfig(key)
	if err != nil {
		return "", false, fmt.Errorf("look up the log-in for %s: %w", key, err)
	}
	auth := registry.AuthConfig{
		Username: found.Username, Password: found.Password, Auth: found.Auth, ServerAddress: found.ServerAddress,
		IdentityToken: found.IdentityToken, RegistryToken: found.RegistryToken,
	}
	header, err = registry.EncodeAuthConfig(auth)
	return header, auth.Username != "" || auth.IdentityToken != "" || auth.RegistryToken != "" || auth.Auth != "", err
}

// all returns every log-in, for a build, whose images are not known beforehand. One
// that cannot be read is left out: the build may not need it.
func (c *credentials) all() map[string]registry.AuthConfig {
	file, err := config.Load(c.dir)
	if err != nil {
		return nil
	}
	found, err := file.GetAllCredentials()
	if err != nil {
		return nil
	}
	out := map[string]registry.AuthConfig{}
	for host, a := range found {
		out[host] = registry.AuthConfig{
			Username: a.Username, Password: a.Password, Auth: a.Auth, ServerAddress: a.ServerAddress,
			IdentityToken: a.IdentityToken, RegistryToken: a.RegistryToken,
		}
	}
	return out
}
