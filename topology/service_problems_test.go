package topology_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/topology"
)

func TestServiceProblems(t *testing.T) {
	t.Parallel()
	runProblemTests(t, map[string]problemTest{
		"no image":              {"image: a\nservices:\n  db: {user: b}", topology.ProblemMissing, `line 3, column 3: services.db.image: missing; name the image that the service runs`},
		"restarted":             {"image: a\nservices:\n  db:\n    image: b\n    restart: always", topology.ProblemUnsupported, `line 5, column 5: services.db.restart: not supported; services live as long as the job and are never restarted`},
		"nothing":               {"image: a\nservices:\n  db:\n", topology.ProblemNull, `line 3, column 3: services.db: has no value; give it a value or remove it`},
		"an image alone":        {"image: a\nservices:\n  db: postgres\n", topology.ProblemType, `line 3, column 7: services.db: must be a mapping (name: value), not text`},
		"a list of services":    {"image: a\nservices: [db]\n", topology.ProblemType, `line 2, column 11: services: must be a mapping (name: value), not a list`},
		"the job's name":        {"image: a\nservices: {job: {image: b}}", topology.ProblemInvalid, `line 2, column 12: services.job: this name is taken on the job's network; name the service after what it is`},
		"localhost":             {"image: a\nservices: {localhost: {image: b}}", topology.ProblemInvalid, `line 2, column 12: services.localhost: this name is taken on the job's network; name the service after what it is`},
		"an underscore":         {"image: a\nservices: {My_DB: {image: b}}", topology.ProblemInvalid, `line 2, column 12: services.My_DB: a service's name is its host name and must be a DNS label; use "my-db"`},
		"a long name":           {"image: a\nservices: {" + strings.Repeat("a", 64) + ": {image: b}}", topology.ProblemInvalid, `line 2, column 12: services.` + strings.Repeat("a", 64) + `: a service's name is its host name and must be a DNS label; lower-case letters, digits and hyphens, at most 63, beginning with a letter`},
		"a domain":              {"image: a\nservices: {a.b: {image: b}}", topology.ProblemInvalid, `line 2, column 12: services["a.b"]: a service's name is its host name and must be a DNS label; lower-case letters, digits and hyphens, at most 63, beginning with a letter`},
		"two sorts of limits":   {"image: a\nservices: {b: {image: c, resources: {cpus: 1}, cpus: 2}}", topology.ProblemConflict, `line 2, column 26: services.b.resources: resources excludes cpus, mem_limit, pids_limit and deploy; they are spellings of the same limits`},
		"unlimited pids":        {"image: a\nservices: {b: {image: c, pids_limit: -1}}", topology.ProblemOutOfRange, `line 2, column 38: services.b.pids_limit: must be from 1 to 4194304; leave it out for no limit`},
		"tmpfs":                 {"image: a\nservices: {b: {image: c, tmpfs: [tmp, /, \"/x:size 1\", /run, /run/]}}", "", "line 2, column 34: services.b.tmpfs[0]: not a tmpfs mount: \"tmp\"; for example \"/tmp\" or \"/tmp:size=64m,mode=1777\"\nline 2, column 39: services.b.tmpfs[1]: not a tmpfs mount: \"/\"; for example \"/tmp\" or \"/tmp:size=64m,mode=1777\"\nline 2, column 42: services.b.tmpfs[2]: not a tmpfs mount: \"/x:size 1\"; for example \"/tmp\" or \"/tmp:size=64m,mode=1777\"\nline 2, column 61: services.b.tmpfs[4]: \"/run/\" is mounted twice, first on line 2, column 55; keep one of them"},
		"reuse of a build":      {"image: a\nservices: {b: {build: ., reuse: true}}", topology.ProblemConflict, `line 2, column 12: services.b.reuse: reuse excludes build; the image is built for one attempt; name one that is there`},
		"reuse without network": {"image: a\nservices: {b: {image: c, network_mode: none, reuse: true}}", topology.ProblemConflict, `line 2, column 12: services.b.reuse: reuse excludes network_mode; the service stays on a network of its own`},
		"reuse of a port":       {"image: a\nservices: {b: {image: c, ports: [80], reuse: true}}", topology.ProblemConflict, `line 2, column 12: services.b.reuse: reuse excludes ports; a published port would be taken as long as the service stays`},
		"reuse of the source":   {"image: a\nservices: {b: {image: c, volumes: [\"./x:/x\"], reuse: true}}", topology.ProblemConflict, `line 2, column 12: services.b.reuse: reuse excludes mounts of the source; every job has a source of its own; use a volume, or configs with content`},
		"reuse of a file":       {"image: a\nconfigs: {f: {file: x}}\nservices: {b: {image: c, configs: [f], reuse: true}}", topology.ProblemConflict, `line 3, column 1: services.b.reuse: reuse excludes files of the source ("f"); every job has a source of its own; write the content into the spec`},
		"reuse on what goes":    {"image: a\nservices: {b: {image: c, depends_on: [d], reuse: true}, d: {image: c}}", topology.ProblemConflict, `line 2, column 1: services.b.reuse: it depends on "d", which does not stay; mark that one too`},
		"reuse of what ends":    {"image: a\nservices: {b: {image: c, depends_on: {d: {condition: service_completed_successfully}}}, d: {image: c, reuse: true}}", topology.ProblemConflict, `line 2, column 1: services.d.reuse: a service that others wait for the end of cannot stay; leave reuse out`},
		"reuse by a word":       {"image: a\nservices: {b: {image: c, reuse: always}}", topology.ProblemType, `line 2, column 33: services.b.reuse: must be true or false`},
		"too many services":     {"image: a\nservices:\n" + manyServices(40), topology.ProblemTooLarge, `line 35, column 3: services: more than 32 services`},
	})
}

func manyServices(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  s%d: {image: a}\n", i)
	}
	return b.String()
}

func TestHealthcheckProblems(t *testing.T) {
	t.Parallel()
	tests := map[string]problemTest{
		"no test":              {"{interval: 1s}", topology.ProblemMissing, `line 1, column 28: services.b.healthcheck.test: missing; write the command that tells when the service is ready`},
		"a slip":               {"{tests: x}", topology.ProblemUnknownField, `line 1, column 42: services.b.healthcheck.tests: unknown field; did you mean "test"?`},
		"no form":              {"{test: [pg_isready]}", topology.ProblemInvalid, `line 1, column 48: services.b.healthcheck.test: the first item must be CMD, CMD-SHELL or NONE; for example ["CMD", "pg_isready"]`},
		"an empty list":        {"{test: []}", topology.ProblemInvalid, `line 1, column 48: services.b.healthcheck.test: the list is empty; remove the field or give it items`},
		"an empty test":        {`{test: ""}`, topology.ProblemInvalid, `line 1, column 48: services.b.healthcheck.test: is empty`},
		"CMD alone":            {"{test: [CMD]}", topology.ProblemInvalid, `line 1, column 48: services.b.healthcheck.test: CMD needs a command; for example ["CMD", "pg_isready"]`},
		"two scripts":          {"{test: [CMD-SHELL, a, b]}", topology.ProblemInvalid, `line 1, column 48: services.b.healthcheck.test: CMD-SHELL needs one script; for example ["CMD", "pg_isready"]`},
		"more than nothing":    {"{test: [NONE, a]}", topology.ProblemInvalid, `line 1, column 48: services.b.healthcheck.test: nothing follows NONE; for example ["CMD", "pg_isready"]`},
		"disabled with a test": {"{test: a, disable: true}", topology.ProblemConflict, `line 1, column 42: services.b.healthcheck.test: a disabled healthcheck has no test; remove one of the two`},
		"no tries":             {"{test: a, retries: 0}", topology.ProblemOutOfRange, `line 1, column 60: services.b.healthcheck.retries: must be from 1 to 10000`},
		"too often":            {"{test: a, interval: 1us}", topology.ProblemOutOfRange, `line 1, column 61: services.b.healthcheck.interval: must be from 1ms to 1h`},
		"a word":               {"curl", topology.ProblemType, `line 1, column 41: services.b.healthcheck: must be a mapping (name: value), not text`},
	}
	for name, tc := range tests {
		tc.text = "services: {b: {image: img, healthcheck: " + tc.text + "}}\nimage: a"
		tests[name] = tc
	}
	runProblemTests(t, tests)
}

func TestDependencyProblems(t *testing.T) {
	t.Parallel()
	runProblemTests(t, map[string]problemTest{
		"unknown": {"image: a\nservices:\n  web: {image: b, depends_on: [cach]}\n  cache: {image: c}", topology.ProblemUnknownService, `line 3, column 32: services.web.depends_on[0]: there is no service "cach"; did you mean "cache"?`},
		"the job": {"image: a\nservices:\n  web: {image: b, depends_on: [job]}", topology.ProblemUnknownService, `line 3, column 32: services.web.depends_on[0]: there is no service "job"; the job waits for its services, never they for it`},
		"itself":  {"image: a\nservices:\n  web: {image: b, depends_on: [web]}", topology.ProblemCycle, `line 3, column 32: services.web.depends_on[0]: the services wait for each other: web -> web; remove one dependency`},
		"a cycle": {
			"image: a\nservices:\n  a: {image: x, depends_on: [b]}\n  b: {image: x, depends_on: {c: {condition: service_healthy}}}\n  c: {image: x, depends_on: [d, a]}\n  d: {image: x}",
			topology.ProblemCycle, `line 5, column 33: services.c.depends_on[1]: the services wait for each other: a -> b -> c -> a; remove one dependency`,
		},
		"two cycles": {
			"image: a\nservices:\n  a: {image: x, depends_on: [b]}\n  b: {image: x, depends_on: [a]}\n  c: {image: x, depends_on: [d, a]}\n  d: {image: x, depends_on: [c]}",
			topology.ProblemCycle, "line 4, column 30: services.b.depends_on[0]: the services wait for each other: a -> b -> a; remove one dependency\nline 6, column 30: services.d.depends_on[0]: the services wait for each other: c -> d -> c; remove one dependency",
		},
		"twice":             {"image: a\nservices:\n  web: {image: b, depends_on: [db, db]}\n  db: {image: c}", topology.ProblemDuplicate, `line 3, column 36: services.web.depends_on[1]: "db" is listed twice`},
		"no condition":      {"image: a\nservices:\n  web: {image: b, depends_on: {db: {}}}\n  db: {image: c}", topology.ProblemMissing, `line 3, column 32: services.web.depends_on.db.condition: missing; for example "condition: service_healthy"`},
		"unknown condition": {"image: a\nservices:\n  web: {image: b, depends_on: {db: {condition: healthy}}}\n  db: {image: c}", topology.ProblemInvalid, `line 3, column 48: services.web.depends_on.db.condition: unknown value "healthy"; it is one of service_started, service_healthy, service_completed_successfully`},
		"restart":           {"image: a\nservices:\n  web: {image: b, depends_on: {db: {condition: service_started, restart: true}}}\n  db: {image: c}", topology.ProblemUnsupported, `line 3, column 65: services.web.depends_on.db.restart: not supported; services are never restarted`},
		"a word":            {"image: a\nservices:\n  web: {image: b, depends_on: db}\n  db: {image: c}", topology.ProblemType, `line 3, column 31: services.web.depends_on: must be a list of services, or a mapping with conditions, not text`},
	})
}

func TestCommandProblems(t *testing.T) {
	t.Parallel()
	runProblemTests(t, map[string]problemTest{
		"both":               {"image: a\ncommand: b\nsteps: [{run: c}]", topology.ProblemConflict, `line 3, column 1: steps: command and steps exclude each other; write the command as the run of a step`},
		"both, on one line":  {`{"steps": [{"run": "c"}], "image": "a", "command": "b"}`, topology.ProblemConflict, `line 1, column 41: command: command and steps exclude each other; write the command as the run of a step`},
		"a pipe":             {"image: a\ncommand: ls | wc", topology.ProblemInvalid, `line 2, column 10: command: no shell runs a command, so it cannot hold any of ; & | < >; use steps, or ["/bin/sh", "-c", "…"]`},
		"and":                {"image: a\nservices: {b: {image: c, command: d && e}}", topology.ProblemInvalid, `line 2, column 35: services.b.command: no shell runs a command, so it cannot hold any of ; & | < >; use steps, or ["/bin/sh", "-c", "…"]`},
		"an open quote":      {"image: a\ncommand: echo 'b", topology.ProblemInvalid, `line 2, column 10: command: not a command: quotes or brackets do not match; write it as a list: ["program", "argument"]`},
		"an empty command":   {"image: a\ncommand: ''", topology.ProblemInvalid, `line 2, column 10: command: is empty; leave it out to keep the image's own`},
		"an empty list":      {"image: a\ncommand: []", topology.ProblemInvalid, `line 2, column 10: command: the list is empty; remove the field or give it items`},
		"a mapping":          {"image: a\ncommand: {b: c}", topology.ProblemType, `line 2, column 10: command: must be text or a list, not a mapping`},
		"nested":             {"image: a\ncommand: [b, [c]]", topology.ProblemType, `line 2, column 14: command[1]: must be text, not a list`},
		"no steps":           {"image: a\nsteps: []", topology.ProblemInvalid, `line 2, column 8: steps: the list is empty; remove the field or give it items`},
		"steps as a mapping": {"image: a\nsteps: {run: b}", topology.ProblemType, `line 2, column 8: steps: must be a list, not a mapping`},
		"a step of text":     {"image: a\nsteps: [make]", topology.ProblemType, `line 2, column 9: steps[0]: must be a mapping; write the script as "run: …"`},
		"no script":          {"image: a\nsteps:\n- name: b", topology.ProblemMissing, `line 3, column 3: steps[0].run: missing; it is the script that the step runs`},
		"an empty script":    {"image: a\nsteps:\n- run: '  '", topology.ProblemInvalid, `line 3, column 8: steps[0].run: is empty`},
		"the same name":      {"image: a\nsteps:\n- {run: b, name: c}\n- {run: d, name: c}", topology.ProblemDuplicate, `line 4, column 18: steps[1].name: the name "c" is taken by the step on line 3, column 18; name it differently`},
		"the default's name": {"image: a\nsteps:\n- {run: b, name: step 2}\n- {run: d}", topology.ProblemDuplicate, `line 4, column 3: steps[1].name: the name "step 2" is taken by the step on line 3, column 18; name it differently`},
		"too many steps":     {"image: a\nsteps:\n" + strings.Repeat("- run: a\n", 102), topology.ProblemTooLarge, `line 103, column 3: steps: more than 100 steps; call a script from one step`},
		"unknown shell":      {"image: a\nshell: zsh\nsteps: [{run: b}]", topology.ProblemInvalid, `line 2, column 8: shell: unknown shell "zsh"; it is one of sh, bash, pwsh, powershell, cmd, or a list like ["zsh", "-c"] to which the script is added`},
		"an idle shell":      {"image: a\nshell: bash", topology.ProblemConflict, `line 2, column 1: shell: a shell without steps has nothing to run; a command runs without a shell`},
		"uses":               {"image: a\nsteps: [{uses: actions/checkout, run: b}]", topology.ProblemUnknownField, `line 2, column 10: steps[0].uses: unknown field; a step runs a shell script: write it under "run"`},
	})
}

func TestEnvProblems(t *testing.T) {
	t.Parallel()
	runProblemTests(t, map[string]problemTest{
		"names":              {"image: a\nenv: {1A: b, \"A=B\": c, \"\": d}", "", "line 2, column 7: env.1A: not the name of an environment variable: \"1A\"; letters, digits, underscores, dots and hyphens, beginning with a letter or an underscore\nline 2, column 14: env[\"A=B\"]: not the name of an environment variable: \"A=B\"; letters, digits, underscores, dots and hyphens, beginning with a letter or an underscore\nline 2, column 24: env: a field's name must be plain text"},
		"no value":           {"image: a\nenv:\n  A:\n", topology.ProblemNull, `line 3, column 3: env.A: has no value; write "" for an empty one; nothing is taken from the machine's environment`},
		"a list value":       {"image: a\nenv:\n  A: [b]\n", topology.ProblemType, `line 3, column 6: env.A: must be text, not a list`},
		"twice":              {"image: a\nenv:\n  A: b\n  A: c\n", topology.ProblemDuplicate, `line 4, column 3: env.A: set twice, first on line 3, column 3; keep one of them`},
		"a list for the job": {"image: a\nenv: [A=b]\n", topology.ProblemType, `line 2, column 6: env: must be a mapping, not a list; write "NAME: value"`},
		"text":               {"image: a\nenv: A=b\n", topology.ProblemType, `line 2, column 6: env: must be a mapping (name: value), not text`},
		"in a step":          {"image: a\nsteps: [{run: b, env: {A B: c}}]\n", topology.ProblemInvalid, `line 2, column 24: steps[0].env["A B"]: not the name of an environment variable: "A B"; letters, digits, underscores, dots and hyphens, beginning with a letter or an underscore`},
		"a service's list":   {"image: a\nservices: {b: {image: c, environment: [A, A=1, A=2, \"=x\"]}}", "", "line 2, column 40: services.b.environment[0]: \"A\" has no value; write \"NAME=value\"; nothing is taken from the machine's environment\nline 2, column 48: services.b.environment[2]: \"A\" is set twice, first on line 2, column 43; keep one of them\nline 2, column 53: services.b.environment[3]: not the name of an environment variable: \"\"; letters, digits, underscores, dots and hyphens, beginning with a letter or an underscore"},
	})
}
