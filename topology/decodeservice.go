package topology

import (
	"fmt"
	"time"
)

// The healthcheck that holds where a service's own is silent, tuned for
// services that start in seconds, and the limits of its times and tries.
const (
	DefaultHealthInterval = time.Second
	DefaultHealthTimeout  = 30 * time.Second
	DefaultHealthRetries  = 30

	minHealthTime    = time.Millisecond // an engine refuses less
	maxHealthTime    = time.Hour
	maxHealthRetries = 10_000
)

// services decodes the containers beside the job and checks that each
// dependency exists and that none waits for itself.
func (d *decoder) services(v value) map[string]Service {
	all := map[string]Service{}
	var graph dependencies
	d.each(v, func(f value) {
		if len(graph.names) == MaxServices {
			d.report(f.key, v.path, ProblemTooLarge, fmt.Sprintf("more than %d services", MaxServices), "")
		}
		name := f.key.text
		graph.names = append(graph.names, name)
		if len(graph.names) > MaxServices || !d.serviceName(f) || d.isNull(f) {
			return
		}
		all[name] = d.service(f, &graph)
	})
	d.checkDependencies(graph)
	if len(all) == 0 {
		return nil
	}
	return all
}

func (d *decoder) service(v value, graph *dependencies) (s Service) {
	var flat Resources // Compose's spelling of resources
	got := d.object(v, fields{
		"image":       func(v value) { s.Image = d.image(v) },
		"command":     func(v value) { s.Command = d.argv(v) },
		"entrypoint":  func(v value) { s.Entrypoint = d.argv(v) },
		"environment": func(v value) { s.Environment = d.environment(v) },
		"healthcheck": func(v value) { s.Healthcheck = d.healthcheck(v) },
		"depends_on":  func(f value) { s.DependsOn = d.dependsOn(f, v.key.text, graph) },
		"working_dir": func(v value) { s.WorkingDir = d.directory(v) },
		"user":        func(v value) { s.User = d.user(v) },
		"tmpfs":       func(v value) { s.Tmpfs = d.tmpfs(v) },
		"resources":   func(v value) { s.Resources = d.resources(v) },
		"ulimits":     func(v value) { s.Ulimits = d.ulimits(v) },
		"cpus":        func(v value) { flat.CPUs = d.cpus(v) },
		"mem_limit":   func(v value) { flat.Memory = d.size(v, MinMemory, MaxMemory) },
		"pids_limit":  func(v value) { flat.Pids = d.pids(v) },
	}, serviceStrangers)
	if v.kind != mappingNode {
		return s
	}
	if got.lacks("image") && !got.other["build"] { // the refusal of build says it all
		d.report(v.key, join(v.path, "image"), ProblemMissing, "missing", "name the image that the service runs")
	}
	if both, ok := got.values["resources"]; !ok {
		s.Resources = flat
	} else if flat != (Resources{}) {
		d.report(both.key, both.path, ProblemConflict, "resources excludes cpus, mem_limit and pids_limit", "they are two spellings of the same limits")
	}
	return s
}

// healthcheck decodes what says that a service is ready.
func (d *decoder) healthcheck(v value) *Healthcheck {
	h := &Healthcheck{
		Interval: Duration(DefaultHealthInterval),
		Timeout:  Duration(DefaultHealthTimeout),
		Retries:  DefaultHealthRetries,
	}
	disable := false
	got := d.object(v, fields{
		"test":         func(v value) { h.Test = d.healthTest(v) },
		"interval":     func(v value) { h.Interval = d.duration(v, minHealthTime, maxHealthTime) },
		"timeout":      func(v value) { h.Timeout = d.duration(v, minHealthTime, maxHealthTime) },
		"start_period": func(v value) { h.StartPeriod = d.duration(v, 0, maxHealthTime) },
		"retries":      func(v value) { h.Retries = int(d.integer(v, 1, maxHealthRetries)) },
		"disable":      func(v value) { disable = d.boolean(v) },
	}, healthStrangers)
	if v.kind != mappingNode {
		return nil
	}
	test, tested := got.values["test"]
	off := len(h.Test) == 1 && h.Test[0] == healthNone
	switch {
	case disable && tested && !off:
		d.report(test.key, test.path, ProblemConflict, "a disabled healthcheck has no test", "remove one of the two")
	case disable || off:
		return &Healthcheck{Test: []string{healthNone}}
	case got.lacks("test"):
		d.report(v.key, join(v.path, "test"), ProblemMissing, "missing", `write the command that tells when the service is ready`)
	}
	return h
}

// The first words of a healthcheck's test.
const (
	healthNone  = "NONE"
	healthArgv  = "CMD"
	healthShell = "CMD-SHELL"
)

// healthTest turns both of Compose's forms into the canonical one.
func (d *decoder) healthTest(v value) []string {
	if v.kind == scalarNode {
		return []string{healthShell, d.required(v)}
	}
	test := d.texts(v)
	if len(test) == 0 || len(test) != len(v.items) {
		return nil // reported
	}
	wrong := ""
	switch test[0] {
	case healthNone:
		if len(test) > 1 {
			wrong = "nothing follows NONE"
		}
	case healthArgv:
		if len(test) == 1 {
			wrong = "CMD needs a command"
		}
	case healthShell:
		if len(test) != 2 {
			wrong = "CMD-SHELL needs one script"
		}
	default:
		wrong = "the first item must be CMD, CMD-SHELL or NONE"
	}
	if wrong != "" {
		d.report(v.node, v.path, ProblemInvalid, wrong, `for example ["CMD", "pg_isready"]`)
	}
	return test
}
