package topology

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// DefaultWorkingDir is where the workspace of a job is mounted unless it says otherwise.
const DefaultWorkingDir = "/workspace"

// jobContainer describes the job container, but for its network.
func jobContainer(spec *Spec, id Identity, names Names, observed Observed) ContainerSpec {
	dir := spec.Workspace()
	c := ContainerSpec{
		Name: names.Job, Hostname: "job", Image: spec.Image, Platform: spec.Platform,
		Command: spec.Command, User: spec.User, WorkingDir: dir,
		Env:     jobEnv(spec, id, observed.Images[spec.Image].Env),
		Volumes: map[string]string{dir: names.Volume}, Resources: bounded(spec.Resources), Ulimits: spec.Ulimits,
		Init: observed.Engine.Init, Labels: id.Labels(RoleJob),
	}
	if spec.HeldOpen() {
		c.Entrypoint, c.Command = []string{spec.HoldingShell()}, spec.stepsCommand(names.Mark())
		c.OpenStdin = true
	}
	return c
}

// serviceContainer describes a service's container, but for its network. Unlike a
// job's its main process has no init in front: many images of services bring one
// that insists on being process 1.
func serviceContainer(spec *Spec, name string, id Identity, names Names) ContainerSpec {
	svc := spec.Services[name]
	labels := id.Labels(RoleService)
	if names.staysIn(svc) {
		labels = SetLabels(id.Hub, id.Runner, names.Set)
	}
	return ContainerSpec{
		Name: names.Services[name], Hostname: cmp.Or(svc.Hostname, hostname(name)), Image: svc.Image,
		Platform:   cmp.Or(svc.Platform, spec.Platform),
		Entrypoint: svc.Entrypoint, Command: svc.Command, Env: environ(svc.Environment),
		WorkingDir: svc.WorkingDir, User: svc.User, Tmpfs: tmpfs(svc.Tmpfs),
		Resources: bounded(svc.Resources), Ulimits: svc.Ulimits, Aliases: append([]string{name}, svc.Aliases...),
		Init: svc.Init, OpenStdin: svc.StdinOpen, GroupAdd: svc.GroupAdd, ExtraHosts: svc.ExtraHosts, ShmSize: svc.ShmSize,
		Sysctls: svc.Sysctls, ReadOnly: svc.ReadOnly, SecurityOpt: svc.SecurityOpt, CapDrop: svc.CapDrop, Powers: svc.Powers,
		Labels: labels,
	}
}

// bounded fills in the limit that holds where a spec names none.
func bounded(r Resources) Resources {
	if r.Pids == 0 {
		r.Pids = DefaultPids
	}
	return r
}

// jobEnv adds to the job's environment what programs expect of a CI. The job may
// override all but the names of its own attempt.
func jobEnv(spec *Spec, id Identity, image []string) []string {
	env := map[string]string{"CI": "true"}
	if !slices.ContainsFunc(image, func(kv string) bool { return strings.HasPrefix(kv, "TERM=") }) {
		env["TERM"] = "dumb" // there is no terminal, but curses programs fail without a word for it
	}
	maps.Copy(env, spec.Env)
	env["RUNNERHUB_JOB_ID"] = id.Job
	env["RUNNERHUB_ATTEMPT"] = strconv.Itoa(id.Attempt)
	env[OutputVariable] = OutputFile
	return environ(env)
}

// environ returns env as sorted KEY=VALUE.
func environ(env map[string]string) []string {
	out := make([]string, 0, len(env))
	for k, v := range env {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return out
}

// Environ returns the step's environment as sorted KEY=VALUE.
func (s Step) Environ() []string { return environ(s.Env) }

// StepArgv returns the command line that runs a step's script.
func (s *Spec) StepArgv(script string) []string {
	shell := s.Shell
	if len(shell) == 0 {
		shell = []string{"/bin/sh", "-e", "-c"}
	}
	return append(slices.Clone(shell), script)
}

// HoldingShell is the interpreter of sh that the job's image must have for steps:
// the one that runs them where that is a kind of sh, else /bin/sh.
func (s *Spec) HoldingShell() string {
	if len(s.Shell) > 0 {
		switch path.Base(s.Shell[0]) {
		case "sh", "bash", "dash", "ash", "ksh", "zsh":
			return s.Shell[0]
		}
	}
	return "/bin/sh"
}

// tmpfs reads Compose's short form, PATH[:options].
func tmpfs(short []string) map[string]string {
	if len(short) == 0 {
		return nil
	}
	out := map[string]string{}
	for _, s := range short {
		dir, options, _ := strings.Cut(s, ":")
		out[dir] = options
	}
	return out
}

// isRoot says whether a USER of an image or a job is the superuser.
func isRoot(user string) bool {
	name, _, _ := strings.Cut(user, ":")
	return name == "" || name == "0" || name == "root"
}

// hostname makes a service's name fit for the kernel.
func hostname(service string) string {
	const limit = 63
	h := strings.Trim(strings.ReplaceAll(nameSafe(service), "_", "-"), "-.")
	return h[:min(len(h), limit)]
}

// Defaults of a healthcheck, chosen so that a service is waited for about half a
// minute after its start period.
const (
	defaultHealthInterval = time.Second
	defaultHealthTimeout  = 30 * time.Second
	defaultHealthRetries  = 30
)

// effectiveHealth returns the healthcheck to run, with an argv for a test and all
// defaults filled in, or nil for none. The declared one wins over the image's.
func effectiveHealth(declared *Healthcheck, image Image) *Healthcheck {
	h := declared
	switch {
	case h == nil:
		h = image.Health
	case len(h.Test) == 0 && image.Health != nil: // its own times for the image's test
		own := *h
		own.Test = image.Health.Test
		h = &own
	}
	if h == nil || len(h.Test) == 0 {
		return nil
	}
	out := *h
	switch h.Test[0] {
	case "NONE":
		return nil
	case "CMD-SHELL":
		shell := image.Shell
		if len(shell) == 0 {
			shell = []string{"/bin/sh", "-c"}
		}
		out.Test = append(slices.Clone(shell), h.Test[1:]...)
	default: // CMD
		out.Test = slices.Clone(h.Test[1:])
	}
	if out.Interval <= 0 {
		out.Interval = Duration(defaultHealthInterval)
	}
	if out.Timeout <= 0 {
		out.Timeout = Duration(defaultHealthTimeout)
	}
	if out.Retries <= 0 {
		out.Retries = defaultHealthRetries
	}
	return &out
}
