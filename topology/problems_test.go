package topology_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/topology"
)

// problemTest is one mistake: its text, its code, and its line in full. A want
// of several lines is several problems, all of the code if there is one.
type problemTest struct{ text, code, want string }

func runProblemTests(t *testing.T, tests map[string]problemTest) {
	t.Helper()
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec, err := topology.Parse([]byte(tc.text))
			var specErr *topology.SpecError
			if spec != nil || !errors.As(err, &specErr) {
				t.Fatalf("got %v, %v", spec, err)
			}
			checkSpecError(t, err)
			if diff := cmp.Diff(strings.Split(tc.want, "\n"), strings.Split(err.Error(), "\n")); diff != "" {
				t.Errorf("the lines differ (-want +got):\n%s", diff)
			}
			for _, p := range specErr.Problems {
				if tc.code != "" && p.Code != tc.code {
					t.Errorf("code %s, want %s: %v", p.Code, tc.code, p)
				}
			}
		})
	}
}

func TestTextProblems(t *testing.T) {
	t.Parallel()
	runProblemTests(t, map[string]problemTest{
		"empty":                  {"", topology.ProblemEmpty, `line 1, column 1: the spec is empty; write an image, and a command or steps`},
		"comments only":          {"# nothing\n", topology.ProblemEmpty, `line 1, column 1: the spec is empty; write an image, and a command or steps`},
		"null document":          {"---\n", topology.ProblemEmpty, `line 2, column 1: the spec is empty; write an image, and a command or steps`},
		"a list":                 {"- image: a", topology.ProblemType, `line 1, column 1: must be a mapping (name: value), not a list`},
		"a word":                 {"image", topology.ProblemType, `line 1, column 1: must be a mapping (name: value), not text`},
		"a number":               {"42", topology.ProblemType, `line 1, column 1: must be a mapping (name: value), not a number`},
		"two documents":          {"image: a\n---\nimage: b\n", topology.ProblemSyntax, `line 2, column 1: a second document starts here; submit one job at a time`},
		"an empty second":        {"image: a\n---\n", topology.ProblemSyntax, `line 2, column 1: a second document starts here; submit one job at a time`},
		"UTF-16":                 {"\xff\xfei\x00", topology.ProblemEncoding, `line 1, column 1: the text is UTF-16; save it as UTF-8`},
		"not UTF-8":              {"image: a\nname: \"é\xff\"", topology.ProblemEncoding, `line 2, column 9: the text is not UTF-8: byte 0xff; save it as UTF-8`},
		"NUL":                    {"image: a\x00b", topology.ProblemEncoding, `line 1, column 9: control character U+0000; remove it, or write it as an escape in double quotes`},
		"escape character":       {"image: a\r\nname: \x1b[1m", topology.ProblemEncoding, `line 2, column 7: control character U+001B; remove it, or write it as an escape in double quotes`},
		"tab indent":             {"image: a\nenv:\n\tA: b\n", topology.ProblemSyntax, `line 3, column 1: not valid YAML: while scanning for the next token: found character that cannot start any token; indent with spaces: YAML allows no tabs there`},
		"open list":              {"image: a\ncommand: [b,\n", topology.ProblemSyntax, `line 2, column 13: not valid YAML: while parsing a flow node: did not find expected node content`},
		"open quote":             {"image: a\nname: 'b\nenv: {}\n", topology.ProblemSyntax, `line 2, column 7: not valid YAML: while scanning a quoted scalar: found unexpected end of stream`},
		"colon in a value":       {"image: a\nname: b: c\n", topology.ProblemSyntax, `line 2, column 8: not valid YAML: mapping values are not allowed in this context`},
		"broken JSON":            {`{"image": "a" "name": "b"}`, topology.ProblemSyntax, `line 1, column 15: not valid YAML: while parsing a flow mapping: did not find expected ',' or '}'`},
		"directive":              {"%YAML 1.2\n---\nimage: a", topology.ProblemSyntax, `line 1, column 1: a line cannot start with %: YAML directives are not accepted`},
		"unknown alias":          {"image: *a", topology.ProblemSyntax, `line 1, column 8: not valid YAML: unknown anchor 'a' referenced`},
		"alias of itself":        {"image: a\ncommand: &c [*c]", topology.ProblemSyntax, `line 2, column 14: the alias *c is inside its own anchor`},
		"merging text":           {"image: a\nenv:\n  <<: x\n", topology.ProblemSyntax, `line 3, column 7: << merges mappings only`},
		"tag":                    {"image: !secret a", topology.ProblemSyntax, `line 1, column 8: the tag !secret is not accepted; write the value without it`},
		"binary":                 {"image: !!binary aGk=", topology.ProblemSyntax, `line 1, column 8: the tag !!binary is not accepted; write the value without it`},
		"list as a key":          {"image: a\n? [b]\n: c", topology.ProblemType, `line 2, column 3: a field's name must be plain text`},
		"no key":                 {"image: a\n: c", topology.ProblemType, `line 2, column 1: a field's name must be plain text`},
		"NUL in YAML":            {"image: a\nenv: {A: \"x\\0y\"}", topology.ProblemInvalid, `line 2, column 10: env.A: contains a NUL character`},
		"NUL in JSON":            {`{"image": "a", "env": {"A": "x\u0000y"}}`, topology.ProblemInvalid, `line 1, column 29: env.A: contains a NUL character`},
		"columns are characters": {`{"image": "a", "env": {"Ä": "ö", "B": []}}`, "", `line 1, column 24: env["Ä"]: not the name of an environment variable: "Ä"; letters, digits, underscores, dots and hyphens, beginning with a letter or an underscore` + "\n" + `line 1, column 39: env.B: must be text, not a list`},
	})
}

func TestFieldProblems(t *testing.T) {
	t.Parallel()
	runProblemTests(t, map[string]problemTest{
		"a slip":                     {"services:\n  db:\n    environment: {}\n    imge: b\nimage: a", topology.ProblemUnknownField, `line 4, column 5: services.db.imge: unknown field; did you mean "image"?`},
		"nothing near":               {"image: a\nfrobnicate: 1", topology.ProblemUnknownField, `line 2, column 1: frobnicate: unknown field`},
		"another's word":             {"image: a\nruns-on: x", topology.ProblemUnknownField, `line 2, column 1: runs-on: unknown field; did you mean "requires" (what a machine can do) or "labels" (what its owner calls it)?`},
		"in a step":                  {"image: a\nsteps:\n- run: b\n  allways: true", topology.ProblemUnknownField, `line 4, column 3: steps[0].allways: unknown field; did you mean "always"?`},
		"in resources":               {"image: a\nresources: {mem: 1GiB}", topology.ProblemUnknownField, `line 2, column 13: resources.mem: unknown field; did you mean "memory"?`},
		"no group":                   {"image: a\nconcurrency: {cancel_running: true}", topology.ProblemMissing, `line 2, column 1: concurrency.group: missing; it names what the jobs share, for example a deploy target`},
		"a group by habit":           {"image: a\nconcurrency: {group: g, cancel-in-progress: true}", topology.ProblemUnknownField, `line 2, column 25: concurrency.cancel-in-progress: unknown field; did you mean "cancel_running"?`},
		"a group is no text":         {"image: a\nconcurrency: deploy", topology.ProblemType, `line 2, column 14: concurrency: must be a mapping (name: value), not text`},
		"in retry":                   {"image: a\nretry: {attempts: 2}", topology.ProblemUnknownField, `line 2, column 9: retry.attempts: unknown field; did you mean "max_attempts"?`},
		"in a healthcheck":           {"image: a\nservices: {b: {image: c, healthcheck: {test: d, intervall: 1s}}}", topology.ProblemUnknownField, `line 2, column 49: services.b.healthcheck.intervall: unknown field; did you mean "interval"?`},
		"a key with spaces":          {"image: a\n\"my key\": 1", topology.ProblemUnknownField, `line 2, column 1: ["my key"]: unknown field`},
		"a very long key":            {"image: a\n" + strings.Repeat("k", 900) + ": 1", topology.ProblemUnknownField, `line 2, column 1: ["` + strings.Repeat("k", 64) + `…"]: unknown field`},
		"set twice":                  {"image: a\nname: b\nimage: c", topology.ProblemDuplicate, `line 3, column 1: image: set twice, first on line 1, column 1; keep one of them`},
		"set twice in JSON":          {`{"image": "a", "image": "b"}`, topology.ProblemDuplicate, `line 1, column 16: image: set twice, first on line 1, column 2; keep one of them`},
		"nothing":                    {"image: a\nname:\nenv: ~", topology.ProblemNull, "line 2, column 1: name: has no value; give it a value or remove it\nline 3, column 6: env: has no value; give it a value or remove it"},
		"null in JSON":               {`{"image": "a", "name": null}`, topology.ProblemNull, `line 1, column 24: name: has no value; give it a value or remove it`},
		"null in a list":             {"image: a\ncommand: [b, null]", topology.ProblemNull, `line 2, column 14: command[1]: has no value; give it a value or remove it`},
		"no image, and nothing else": {"name: b", topology.ProblemMissing, `line 1, column 1: image: missing; name the image that the job runs in; without one steps or a command run on the machine itself, where its owner allows that`},
		"image with a variable":      {"image: app:${TAG}", topology.ProblemInvalid, `line 1, column 8: image: not an image reference: "app:${TAG}"; variables are not expanded in a spec: write the tag out`},
		"image in capitals":          {"image: App", topology.ProblemInvalid, `line 1, column 8: image: not an image reference: "App"; repository names are lower case`},
		"image with a space":         {"image: a b", topology.ProblemInvalid, `line 1, column 8: image: not an image reference: "a b"; for example "golang:1.26" or "registry.example/team/app@sha256:…"`},
		"an empty image":             {`image: ""`, topology.ProblemInvalid, `line 1, column 8: image: not an image reference: ""; for example "golang:1.26" or "registry.example/team/app@sha256:…"`},
		"an endless image":           {"image: " + strings.Repeat("a", 513), topology.ProblemOutOfRange, `line 1, column 8: image: is longer than 512 characters`},
		"image as a list":            {"image: [a]", topology.ProblemType, `line 1, column 8: image: must be text, not a list`},
		"relative directory":         {"image: a\nworking_dir: src", topology.ProblemInvalid, `line 2, column 14: working_dir: must be an absolute path; for example "/work"`},
		"the root":                   {"image: a\nworking_dir: /.", topology.ProblemInvalid, `line 2, column 14: working_dir: the root cannot be the working directory of a job; for example "/work"`},
		"user":                       {"image: a\nuser: \"a b\"", topology.ProblemInvalid, `line 2, column 7: user: not a user: "a b"; write a name or an id, with ":group" if needed`},
		"name of two lines":          {"image: a\nname: \"a\\nb\"", topology.ProblemInvalid, `line 2, column 7: name: must be one line of printable characters`},
		"long name":                  {"image: a\nname: " + strings.Repeat("ü", 129), topology.ProblemOutOfRange, `line 2, column 7: name: is longer than 128 characters`},
		"capability":                 {"image: a\nrequires: [x86_64, dokcer, big]", topology.ProblemInvalid, "line 2, column 12: requires[0]: unknown capability \"x86_64\"; did you mean \"amd64\"?\nline 2, column 20: requires[1]: unknown capability \"dokcer\"; did you mean \"docker\"?\nline 2, column 28: requires[2]: unknown capability \"big\"; what a machine's owner calls it goes under labels; capabilities are 386, amd64, arm, arm64, darwin, docker, gpu, host, linux, windows"},
		"label":                      {"image: a\nlabels: [a b]", topology.ProblemInvalid, `line 2, column 10: labels[0]: not a label: "a b"; letters, digits, dots, hyphens and underscores, at most 63`},
		"one label":                  {"image: a\nlabels: b", topology.ProblemType, `line 2, column 9: labels: must be a list, not text`},
		"platform":                   {"image: a\nplatform: linux", topology.ProblemInvalid, `line 2, column 11: platform: not a platform: "linux"; for example "linux/amd64" or "linux/arm/v7"`},
		"system":                     {"image: a\nplatform: darwin/arm64", topology.ProblemInvalid, `line 2, column 11: platform: unknown operating system "darwin"; images are for linux or windows`},
		"architecture":               {"image: a\nplatform: linux/x86_64", topology.ProblemInvalid, `line 2, column 11: platform: unknown architecture "x86_64"; did you mean "linux/amd64"?`},
		"pull":                       {"image: a\npull: allways", topology.ProblemInvalid, `line 2, column 7: pull: unknown value "allways"; did you mean "always"?`},
		"network":                    {"image: a\nnetwork: host", topology.ProblemInvalid, `line 2, column 10: network: unknown value "host"; it is one of none, restricted, open`},
		"network as a mapping":       {"image: a\nnetwork: {}", topology.ProblemType, `line 2, column 10: network: must be text, not a mapping`},
		"services without a network": {"image: a\nnetwork: none\nservices: {b: {image: c}}", topology.ProblemConflict, `line 2, column 10: network: services need a network; "restricted" reaches the services and nothing else`},
		"failure class":              {"image: a\nretry: {on: [runner-lost, canceled]}", topology.ProblemInvalid, "line 2, column 14: retry.on[0]: unknown failure class \"runner-lost\"; did you mean \"runner_lost\"?\nline 2, column 27: retry.on[1]: unknown failure class \"canceled\"; the classes are artifact, capability_missing, disk_full, docker_unavailable, image_pull, internal, oom, policy_denied, runner_lost, script, service_unhealthy, source, spec_invalid, timeout"},
	})
}

func TestSessionProblems(t *testing.T) {
	t.Parallel()
	runProblemTests(t, map[string]problemTest{
		"a kind that is not":  {"image: a\nkind: sesion", topology.ProblemInvalid, `line 2, column 7: kind: unknown value "sesion"; did you mean "session"?`},
		"a command":           {"kind: session\nimage: a\ncommand: b", topology.ProblemConflict, `line 3, column 1: command: a session runs no command of its own; run it with exec_in_job, or as a step before that`},
		"no commands let in":  {"kind: session\nimage: a\nexec: false", topology.ProblemConflict, `line 3, column 7: exec: a session is there for commands to be run in it; leave exec out`},
		"without a container": {"kind: session\nsteps: [{run: a}]", topology.ProblemMissing, `line 1, column 1: image: missing; name the image that the session stays in: it needs a container`},
		"by habit":            {"image: a\nsession: true", topology.ProblemUnknownField, `line 2, column 1: session: unknown field; write "kind: session"`},
	})
}

// A job without an image has nothing that only containers have.
func TestHostProblems(t *testing.T) {
	t.Parallel()
	needs := func(at, field, hint string) problemTest {
		return problemTest{at, topology.ProblemConflict, "line 2, column 1: " + field + ": needs a container, and a job without an image has none; " + hint}
	}
	runProblemTests(t, map[string]problemTest{
		"services":    needs("command: a\nservices: {db: {image: b}}", "services", "name the image that the job runs in"),
		"compose":     needs("command: a\ncompose: compose.yaml\nsource: {files: {compose.yaml: x}}", "compose", "name the image that the job runs in"),
		"working_dir": needs("command: a\nworking_dir: /srv", "working_dir", "such a job starts in a folder of its own; begin a script with cd"),
		"user":        needs("command: a\nuser: b", "user", "such a job runs as the user that the machine's owner has chosen"),
		"platform":    needs("command: a\nplatform: linux/amd64", "platform", `say which machine under "requires", for example [linux, arm64]`),
		"cache":       needs("command: a\ncache: [{key: k, paths: [x]}]", "cache", "keep such things in a folder of the machine that is the owner's to give"),
		"pull":        needs("command: a\npull: never", "pull", "there is nothing to pull"),
		"no network":  {"command: a\nnetwork: none", topology.ProblemConflict, `line 2, column 10: network: a job without an image reaches what its machine reaches; name an image, or leave "network" out`},
		"restricted":  {"command: a\nnetwork: restricted", topology.ProblemConflict, `line 2, column 10: network: a job without an image reaches what its machine reaches; name an image, or leave "network" out`},
		"two at once": {"steps: [{run: a}]\nuser: b\nnetwork: none", topology.ProblemConflict, "line 2, column 1: user: needs a container, and a job without an image has none; such a job runs as the user that the machine's owner has chosen\n" + `line 3, column 10: network: a job without an image reaches what its machine reaches; name an image, or leave "network" out`},
	})
}

func TestNumberProblems(t *testing.T) {
	t.Parallel()
	runProblemTests(t, map[string]problemTest{
		"cpus":             {"image: a\nresources: {cpus: many}", topology.ProblemInvalid, `line 2, column 19: resources.cpus: not a number of cores: "many"; for example 0.5 or 2`},
		"not a number":     {"image: a\nresources: {cpus: .nan}", topology.ProblemInvalid, `line 2, column 19: resources.cpus: not a number of cores: ".nan"; for example 0.5 or 2`},
		"NaN as text":      {"image: a\nresources: {cpus: NaN}", topology.ProblemInvalid, `line 2, column 19: resources.cpus: not a number of cores: "NaN"; for example 0.5 or 2`},
		"infinity":         {"image: a\nresources: {cpus: inf}", topology.ProblemInvalid, `line 2, column 19: resources.cpus: not a number of cores: "inf"; for example 0.5 or 2`},
		"hexadecimal":      {"image: a\nresources: {cpus: 0x1p1}", topology.ProblemInvalid, `line 2, column 19: resources.cpus: not a number of cores: "0x1p1"; for example 0.5 or 2`},
		"negative cpus":    {"image: a\nresources: {cpus: -1}", topology.ProblemOutOfRange, `line 2, column 19: resources.cpus: must be from 0.01 to 1024 cores; leave it out for no limit`},
		"cpus of zero":     {"image: a\nresources: {cpus: 0}", topology.ProblemOutOfRange, `line 2, column 19: resources.cpus: must be from 0.01 to 1024 cores; leave it out for no limit`},
		"cpus overflow":    {`{"image": "a", "resources": {"cpus": 1e999}}`, topology.ProblemOutOfRange, `line 1, column 38: resources.cpus: must be from 0.01 to 1024 cores; leave it out for no limit`},
		"memory":           {"image: a\nresources: {memory: 4 gigs}", topology.ProblemInvalid, `line 2, column 21: resources.memory: not a size: "4 gigs"; for example "512MiB" or "4GiB"`},
		"negative memory":  {"image: a\nresources: {memory: -4GiB}", topology.ProblemOutOfRange, `line 2, column 21: resources.memory: must be from 6MiB to 1PiB; leave it out for no limit`},
		"memory overflow":  {"image: a\nresources: {memory: 99999999999999999999}", topology.ProblemOutOfRange, `line 2, column 21: resources.memory: must be from 6MiB to 1PiB; leave it out for no limit`},
		"petabytes":        {"image: a\nresources: {memory: 9999999p}", topology.ProblemOutOfRange, `line 2, column 21: resources.memory: must be from 6MiB to 1PiB; leave it out for no limit`},
		"disk":             {"image: a\nresources: {disk: 1KiB}", topology.ProblemOutOfRange, `line 2, column 19: resources.disk: must be from 1MiB to 8PiB; leave it out for no limit`},
		"disk in bytes":    {"image: a\nresources: {disk: 4}", topology.ProblemOutOfRange, `line 2, column 19: resources.disk: must be from 1MiB to 8PiB; a number without a unit is bytes: write "4MiB" or "4GiB"`},
		"ulimit":           {"image: a\nulimits: {nofiles: 1}", topology.ProblemUnknownField, `line 2, column 11: ulimits.nofiles: unknown ulimit; did you mean "nofile"?`},
		"ulimit as text":   {"image: a\nulimits: {nofile: many}", topology.ProblemType, `line 2, column 19: ulimits.nofile: must be a whole number`},
		"half a ulimit":    {"image: a\nulimits: {nofile: {soft: 1}}", topology.ProblemMissing, `line 2, column 11: ulimits.nofile.hard: missing; write one number for both, or soft and hard`},
		"soft above hard":  {"image: a\nulimits: {nofile: {soft: 2, hard: 1}}", topology.ProblemConflict, `line 2, column 11: ulimits.nofile: the soft limit is above the hard one`},
		"soft without end": {"image: a\nulimits: {core: {soft: -1, hard: 1}}", topology.ProblemConflict, `line 2, column 11: ulimits.core: the soft limit is above the hard one`},
		"idle timeout":     {"image: a\nidle_timeout: 500ms", topology.ProblemOutOfRange, `line 2, column 15: idle_timeout: must be from 1s to 24h`},
		"memory in bytes":  {"image: a\nresources: {memory: 4}", topology.ProblemOutOfRange, `line 2, column 21: resources.memory: must be from 6MiB to 1PiB; a number without a unit is bytes: write "4MiB" or "4GiB"`},
		"pids":             {"image: a\nresources: {pids: -1}", topology.ProblemOutOfRange, `line 2, column 19: resources.pids: must be from 1 to 4194304; leave it out for no limit`},
		"pids in quotes":   {"image: a\nresources: {pids: \"10\"}", topology.ProblemType, `line 2, column 19: resources.pids: must be a whole number; write it without quotes`},
		"a fraction":       {"image: a\nresources: {pids: 1.5}", topology.ProblemType, `line 2, column 19: resources.pids: must be a whole number`},
		"integer overflow": {"image: a\nresources: {pids: 99999999999999999999}", topology.ProblemOutOfRange, `line 2, column 19: resources.pids: must be from 1 to 4194304`},
		"attempts":         {"image: a\nretry: {max_attempts: 11}", topology.ProblemOutOfRange, `line 2, column 23: retry.max_attempts: must be from 1 to 10`},
		"no attempts":      {"image: a\nretry: {max_attempts: 0}", topology.ProblemOutOfRange, `line 2, column 23: retry.max_attempts: must be from 1 to 10`},
		"no unit":          {"image: a\ntimeout: 30", topology.ProblemInvalid, `line 2, column 10: timeout: a duration needs a unit; write "30s" for seconds`},
		"days":             {"image: a\ntimeout: 1d", topology.ProblemInvalid, `line 2, column 10: timeout: not a duration: "1d"; for example "90s", "30m" or "1h30m"; the units are ms, s, m and h`},
		"short timeout":    {"image: a\ntimeout: 999ms", topology.ProblemOutOfRange, `line 2, column 10: timeout: must be from 1s to 24h`},
		"long timeout":     {"image: a\ntimeout: 24h1s", topology.ProblemOutOfRange, `line 2, column 10: timeout: must be from 1s to 24h`},
		"negative time":    {"image: a\ntimeout: -5m", topology.ProblemOutOfRange, `line 2, column 10: timeout: must be from 1s to 24h`},
		"time overflow":    {"image: a\ntimeout: 9999999h", topology.ProblemInvalid, `line 2, column 10: timeout: not a duration: "9999999h"; for example "90s", "30m" or "1h30m"; the units are ms, s, m and h`},
		"long grace":       {"image: a\ngrace: 6m", topology.ProblemOutOfRange, `line 2, column 8: grace: must be from 0s to 5m`},
		"boolean":          {"image: a\nsteps: [{run: b, always: yes}]", topology.ProblemType, `line 2, column 26: steps[0].always: must be true or false`},
	})
}
