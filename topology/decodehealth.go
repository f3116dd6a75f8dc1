package topology

import "time"

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

// healthcheck decodes what says that a service is ready.
func (d *decoder) healthcheck(v value) *Healthcheck {
	h := &Healthcheck{
		Interval: Duration(DefaultHealthInterval),
		Timeout:  Duration(DefaultHealthTimeout),
		Retries:  DefaultHealthRetries,
	}
	disable := false
	got := d.object(v, fields{
		"test":           func(v value) { h.Test = d.healthTest(v) },
		"interval":       func(v value) { h.Interval = d.duration(v, minHealthTime, maxHealthTime) },
		"timeout":        func(v value) { h.Timeout = d.duration(v, minHealthTime, maxHealthTime) },
		"start_period":   func(v value) { h.StartPeriod = d.duration(v, 0, maxHealthTime) },
		"start_interval": func(v value) { h.StartInterval = d.duration(v, minHealthTime, maxHealthTime) },
		"retries":        func(v value) { h.Retries = int(d.integer(v, 1, maxHealthRetries)) },
		"disable":        func(v value) { disable = d.boolean(v) },
	}, strangers{})
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
	case got.lacks("test") && !d.lenient: // in Compose files the image's own test can be meant
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
