package topology

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// Limits on times, and the grace that holds when a spec sets none.
const (
	MinTimeout   = time.Second
	MaxTimeout   = 24 * time.Hour
	MaxGrace     = 5 * time.Minute
	MaxHold      = 24 * time.Hour
	DefaultGrace = 10 * time.Second
	// MaxRetryAttempts is the most that retry.max_attempts can ask for.
	MaxRetryAttempts = 10
)

// job decodes the whole spec.
func (d *decoder) job(root value) *Spec {
	s := &Spec{Pull: PullMissing, Network: NetworkOpen, Grace: Duration(DefaultGrace)}
	known := fields{
		"kind":         func(v value) { s.Kind = d.kind(v) },
		"name":         func(v value) { s.Name = d.title(v) },
		"image":        func(v value) { s.Image = d.image(v) },
		"command":      func(v value) { s.Command = d.argv(v) },
		"steps":        func(v value) { s.Steps = d.steps(v) },
		"services":     func(v value) { s.Services = d.services(v) },
		"compose":      func(v value) { s.Compose = d.compose(v) },
		"volumes":      func(v value) { s.Volumes = d.volumes(v) },
		"configs":      func(v value) { s.Configs = d.fileSources(v) },
		"secrets":      func(v value) { s.Secrets = d.fileSources(v) },
		"env":          func(v value) { s.Env = d.env(v) },
		"working_dir":  func(v value) { s.WorkingDir = d.workspace(v) },
		"user":         func(v value) { s.User = d.user(v) },
		"shell":        func(v value) { s.Shell = d.shell(v) },
		"source":       func(v value) { s.Source = d.source(v) },
		"requires":     func(v value) { s.Requires = d.words(v, d.capability) },
		"labels":       func(v value) { s.Labels = d.words(v, d.label) },
		"platform":     func(v value) { s.Platform = d.platform(v) },
		"pull":         func(v value) { s.Pull = oneOf(d, v, PullMissing, PullAlways, PullNever) },
		"resources":    func(v value) { s.Resources = d.resources(v) },
		"ulimits":      func(v value) { s.Ulimits = d.ulimits(v) },
		"network":      func(v value) { s.Network = oneOf(d, v, NetworkNone, NetworkRestricted, NetworkOpen) },
		"timeout":      func(v value) { s.Timeout = d.duration(v, MinTimeout, MaxTimeout) },
		"idle_timeout": func(v value) { s.IdleTimeout = d.duration(v, MinTimeout, MaxTimeout) },
		"grace":        func(v value) { s.Grace = d.grace(v) },
		"retry":        func(v value) { s.Retry = d.retry(v) },
		"artifacts":    func(v value) { s.Artifacts = d.artifacts(v) },
		"reports":      func(v value) { s.Reports = d.reports(v) },
		"collect":      func(v value) { s.Collect = oneOf(d, v, CollectPatch) },
		"cache":        func(v value) { s.Cache = d.caches(v) },
		"concurrency":  func(v value) { s.Concurrency = d.concurrency(v) },

		"hold_on_failure": func(v value) { s.HoldOnFailure = d.duration(v, time.Second, MaxHold) },
		"exec":            func(v value) { s.Exec = d.boolean(v) },
	}
	got := d.object(root, known, jobStrangers)
	if root.kind != mappingNode {
		return s
	}
	d.together(s, root, got)
	if services, ok := got.values["services"]; ok {
		d.checkReused(services, s)
	}
	if s.HeldOpen() && s.Shell == nil {
		s.Shell = slices.Clone(shells["sh"])
	}
	return s
}

// together checks what no field can know alone.
func (d *decoder) together(s *Spec, root value, got found) {
	if got.lacks("image") {
		d.onHost(s, root, got)
	}
	command, both := got.values["command"]
	steps, ok := got.values["steps"]
	if both && ok {
		later := steps
		if steps.key.before(command.key.position) {
			later = command
		}
		d.report(later.key, later.path, ProblemConflict, "command and steps exclude each other",
			"write the command as the run of a step")
	}
	if s.Session() {
		d.session(s, got)
	}
	if shell, ok := got.values["shell"]; ok && got.lacks("steps") && !s.Session() {
		d.report(shell.key, shell.path, ProblemConflict, "a shell without steps has nothing to run", "a command runs without a shell")
	}
	if compose, ok := got.values["compose"]; ok {
		for _, field := range []string{"services", "volumes", "configs", "secrets"} {
			if both, ok := got.values[field]; ok {
				d.report(both.key, both.path, ProblemConflict, "compose and "+field+" exclude each other",
					"write them in a Compose file of the source, or all in the spec")
			}
		}
		if s.Network == NetworkNone {
			d.report(compose.key, compose.path, ProblemConflict, "services need a network",
				`"network: restricted" reaches the services and nothing else`)
		}
	}
	if collect, ok := got.values["collect"]; ok && slices.ContainsFunc(s.Artifacts, func(a Artifact) bool { return a.Name == PatchName }) {
		d.report(collect.key, collect.path, ProblemConflict, "one of the artifacts is called patch", "that is the name of what collect returns: name the artifact differently")
	}
	d.checkMentions(s)
	d.checkCaches(s)
	if s.Network == NetworkNone && len(s.Services) > 0 {
		d.report(got.values["network"].node, "network", ProblemConflict, "services need a network",
			`"restricted" reaches the services and nothing else`)
	}
}

// steps decodes the scripts of a job and names those that have no name.
func (d *decoder) steps(v value) []Step {
	var all []Step
	named := map[string]*node{}
	d.list(v, func(item value) {
		if len(all) == MaxSteps {
			d.report(item.node, v.path, ProblemTooLarge, fmt.Sprintf("more than %d steps", MaxSteps), "call a script from one step")
		}
		step := Step{}
		if len(all) >= MaxSteps {
			all = append(all, step)
			return
		}
		got := d.step(item, &step)
		at := item.node
		if name, ok := got.values["name"]; ok {
			at = name.node
		} else {
			step.Name = "step " + strconv.Itoa(len(all)+1)
		}
		if before := named[step.Name]; step.Name != "" && before != nil {
			d.report(at, join(item.path, "name"), ProblemDuplicate,
				"the name "+quote(step.Name)+" is taken by the step on "+before.String(), "name it differently")
		} else {
			named[step.Name] = at
		}
		all = append(all, step)
	})
	return all
}

func (d *decoder) step(v value, s *Step) found {
	if v.kind != mappingNode {
		d.report(v.node, v.path, ProblemType, "must be a mapping", `write the script as "run: …"`)
		return found{}
	}
	got := d.object(v, fields{
		"name":   func(v value) { s.Name = d.title(v) },
		"run":    func(v value) { s.Run = d.required(v) },
		"always": func(v value) { s.Always = d.boolean(v) },
		"env":    func(v value) { s.Env = d.env(v) },
	}, stepStrangers)
	if got.lacks("run") {
		d.report(v.key, join(v.path, "run"), ProblemMissing, "missing", "it is the script that the step runs")
	}
	return got
}

func (d *decoder) retry(v value) (r Retry) {
	d.object(v, fields{
		"max_attempts": func(v value) { r.MaxAttempts = int(d.integer(v, 1, MaxRetryAttempts)) },
		"on":           func(v value) { r.On = d.words(v, d.retryClass) },
	}, retryStrangers)
	return r
}

func (d *decoder) concurrency(v value) (c Concurrency) {
	got := d.object(v, fields{
		"group":          func(v value) { c.Group = d.title(v) },
		"cancel_running": func(v value) { c.CancelRunning = d.boolean(v) },
	}, concurrencyStrangers)
	if v.kind == mappingNode && got.lacks("group") {
		d.report(v.key, join(v.path, "group"), ProblemMissing, "missing", "it names what the jobs share, for example a deploy target")
	}
	return c
}

func (d *decoder) grace(v value) Duration {
	if grace := d.duration(v, 0, MaxGrace); grace > 0 {
		return grace
	}
	return Duration(DefaultGrace)
}

// words decodes a list of words into a sorted list without duplicates.
func (d *decoder) words(v value, check func(value) (string, bool)) []string {
	set := map[string]bool{}
	d.list(v, func(item value) {
		if word, ok := check(item); ok {
			set[word] = true
		}
	})
	if len(set) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(set))
}
