package host

import (
	"maps"
	"slices"
	"strings"

	"github.com/runnerhub/runnerhub/topology"
)

// defaultPath is where programs are looked for unless the job says otherwise.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environ is the environment of a command in a container: what every program expects, what the container
// has, and what this command has besides. Nothing of the runner's own environment is in it.
func (c *container) environ(more []string, dir string) []string {
	env := map[string]string{
		"PATH": defaultPath, "LANG": "C.UTF-8", "SHELL": "/bin/sh",
		"HOME": c.path(homeDir), "TMPDIR": c.path(tmpDir), "USER": c.user.Name, "LOGNAME": c.user.Name,
	}
	for _, kv := range slices.Concat(c.spec.Env, more) {
		name, value, _ := strings.Cut(kv, "=")
		if name == topology.OutputVariable {
			value = c.path(value)
		}
		env[name] = value
	}
	env["PWD"] = c.path(dir)
	env[markVariable] = c.name
	out := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		out = append(out, name+"="+env[name])
	}
	return out
}
