package status

import (
	"fmt"
	"strings"

	"github.com/runnerhub/runnerhub/runnerctl/iostreams"
	"github.com/runnerhub/runnerhub/runnerctl/keyring"
)

func show(o *Options, s Status) error {
	var b strings.Builder
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-9s %s\n", name, iostreams.OneLine(fmt.Sprintf(format, args...)))
	}
	if s.Engine.Error != "" {
		row("engine", "none: %s", s.Engine.Error)
	} else {
		row("engine", "%s at %s", s.Engine.Name, s.Engine.Endpoint)
	}
	if len(s.Environment) > 0 {
		row("set", "%s, before what the profiles say", strings.Join(s.Environment, ", "))
	}
	if len(s.Profiles) == 0 {
		row("profiles", "none; start with `runnerctl pair --hub URL` or `runnerctl login --hub URL`")
	}
	for _, h := range s.Profiles {
		b.WriteString("\n")
		row("profile", "%s%s", h.Profile, either(h.InUse, " (in use)", ""))
		row("hub", "%s (%s)", h.Hub, either(h.Reachable, "reachable", "not reachable"))
		if h.Paired {
			row("runner", "%s (%s) for %s%s%s", h.Label, h.RunnerID, h.Owner, either(h.Running != "", ", "+h.Running, ""), either(h.Why != "", ": "+h.Why, ""))
		} else {
			row("runner", "not paired")
		}
		row("signed in", "%s", either(h.SignedIn, h.Login, "no"))
		for _, w := range h.Workspaces {
			row("workspace", "%s (%s)", w.Slug, w.Role)
		}
		row("storage", "%s", either(h.Storage == string(keyring.File), "plain file "+h.StoredIn, h.StoredIn))
		for _, problem := range []string{h.Error, h.TokenError} {
			if problem != "" {
				row("problem", "%s", problem)
			}
		}
	}
	return o.F.IO.Say("%s", b.String())
}

func either(b bool, yes, no string) string {
	if b {
		return yes
	}
	return no
}
