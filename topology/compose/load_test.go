package compose_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/compose"
)

// load reads one Compose file as that of a job.
func load(t *testing.T, text string, files map[string]string) (*topology.Spec, *topology.Failure) {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "compose.yaml", text)
	for name, content := range files {
		write(t, dir, name, content)
	}
	spec := &topology.Spec{Image: "job", Env: map[string]string{"NAME": "value"}, Compose: topology.Compose{Files: []string{"compose.yaml"}}}
	out, _, failure := compose.Load(t.Context(), dir, spec)
	return out, failure
}

// What can be written both ways is the same service.
func TestBothWaysAreTheSame(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"an image":     `{image: a}`,
		"commands":     `{image: a, command: serve --name "my app", entrypoint: [/bin/app, run]}`,
		"variables":    `{image: a, environment: {A: 1, B: "", C: x=y, D: "true"}}`,
		"a list":       `{image: a, environment: [A=1, "B=", C=x=y]}`,
		"healthcheck":  `{image: a, healthcheck: {test: [CMD, up], interval: 2s, timeout: 1m30s, retries: 7, start_period: 5s, start_interval: 500ms}}`,
		"a script":     `{image: a, healthcheck: {test: curl -f localhost}}`,
		"no check":     `{image: a, healthcheck: {disable: true}}`,
		"none":         `{image: a, healthcheck: {test: [NONE]}}`,
		"user":         `{image: a, user: "1000:1000", working_dir: /srv, group_add: ["7", audio], hostname: other}`,
		"hosts":        `{image: a, extra_hosts: ["b:10.0.0.1", "c=::1", "d:host-gateway"]}`,
		"more hosts":   `{image: a, extra_hosts: {b: 10.0.0.1}}`,
		"tmpfs":        `{image: a, tmpfs: [/tmp, "/run:size=64m,mode=1777"]}`,
		"one tmpfs":    `{image: a, tmpfs: /tmp}`,
		"volumes":      `{image: a, volumes: ["data:/data", "data:/ro:ro", /anonymous, ./src:/src, "./file:/file:ro", "/opt/tools:/tools:ro"]}`,
		"long volumes": `{image: a, volumes: [{type: volume, source: data, target: /data, read_only: true}, {type: bind, source: ./src, target: /src}, {type: tmpfs, target: /tmp, tmpfs: {size: 1048576}}]}`,
		"files":        `{image: a, configs: [conf, {source: conf, target: /etc/conf, uid: "1", gid: "2", mode: 0440}], secrets: [token, {source: token, target: other}]}`,
		"limits":       `{image: a, cpus: 0.5, mem_limit: 64m, pids_limit: 10}`,
		"deploy":       `{image: a, deploy: {replicas: 2, resources: {limits: {cpus: "0.5", memory: 64M, pids: 10}}}}`,
		"scale":        `{image: a, scale: 3}`,
		"ulimits":      `{image: a, ulimits: {nofile: {soft: 10, hard: 20}, nproc: 100}, shm_size: 64m, sysctls: {net.core.somaxconn: 1024}}`,
		"switches":     `{image: a, init: true, read_only: true, stdin_open: true, cap_drop: [ALL], security_opt: ["no-new-privileges:true"]}`,
		"stop":         `{image: a, stop_signal: SIGINT, stop_grace_period: 1m}`,
		"platform":     `{image: a, platform: linux/arm64, pull_policy: always}`,
		"a build":      `{build: ./src}`,
		"more of it":   `{image: own, build: {context: ./src, dockerfile: docker/Dockerfile, args: {A: "1"}, target: t, network: none, no_cache: true, pull: true, shm_size: 1048576, extra_hosts: ["b:10.0.0.1"]}}`,
		"inline":       `{build: {dockerfile_inline: "FROM a\n"}}`,
		"powers":       `{image: a, privileged: true, cap_add: [NET_ADMIN], devices: ["/dev/kvm", "/dev/a:/dev/b:r"], gpus: all}`,
		"modes":        `{image: a, network_mode: host, pid: host, ipc: host, uts: host, userns_mode: host, cgroup: host}`,
		"no network":   `{image: a, network_mode: none}`,
		"ports":        `{image: a, ports: ["80", "8080:80", "127.0.0.1:53:53/udp"]}`,
		"long ports":   `{image: a, ports: [{target: 80, published: "8080", host_ip: 127.0.0.1, protocol: udp}]}`,
		"GPUs":         `{image: a, deploy: {resources: {reservations: {devices: [{driver: nvidia, count: 2, capabilities: [gpu]}]}}}}`,
		"waits":        `{image: a, depends_on: [b, c]}`,
		"conditions":   `{image: a, depends_on: {b: {condition: service_healthy}, c: {condition: service_completed_successfully}}}`,
	}
	for name, service := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := "services:\n  a: " + service + "\n"
			if strings.Contains(service, "depends_on") {
				text += "  b: {image: b}\n  c: {image: c}\n"
			}
			if strings.Contains(service, "data") {
				text += "volumes: {data: }\n"
			}
			if strings.Contains(service, "configs") {
				text += "configs: {conf: {content: x}}\nsecrets: {token: {environment: NAME}}\n"
			}
			got, failure := load(t, text, nil)
			if failure != nil {
				t.Fatalf("%+v", failure)
			}
			want, err := topology.Parse([]byte("image: job\n" + text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.Services, got.Services); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]any{want.Volumes, want.Configs, want.Secrets}, []any{got.Volumes, got.Configs, got.Secrets}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What would change what runs is refused by its name, with what to do instead.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, f := range topology.ComposeService() {
		text := map[string]string{
			"cgroup_parent": "x", "credential_spec": "{file: x}", "device_cgroup_rules": "['c 1:3 mr']", "dns": "8.8.8.8", "dns_opt": "[x]", "dns_search": "x",
			"external_links": "[x]", "mac_address": "'02:42:ac:11:00:02'", "models": "[m]", "oom_kill_disable": "true",
			"post_start": "[{command: x}]", "pre_start": "[{command: x}]", "pre_stop": "[{command: x}]", "provider": "{type: x}", "runtime": "x",
			"umask": "18", "use_api_socket": "true", "volumes_from": "[b]",
		}[f.Name]
		if f.Support != topology.Refused {
			continue
		}
		if text == "" {
			t.Errorf("no test for %s", f.Name)
			continue
		}
		_, failure := load(t, "services:\n  a:\n    image: a\n    "+f.Name+": "+text+"\n  b: {image: b}\nmodels: {m: {model: x}}\n", nil)
		if failure == nil || failure.Class != topology.ClassSpecInvalid || !strings.Contains(failure.Message, f.Name) {
			t.Errorf("%s: %+v", f.Name, failure)
		}
	}
}

// Nothing is read but the source, and of the runner's environment nothing at all.
func TestNothingBesideTheSourceIsRead(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside.yaml")
	if err := os.WriteFile(outside, []byte("services: {x: {image: leaked}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("RUNNERHUB_SECRET", "leaked")
	const a = "services: {a: {image: a}}\n"
	tests := map[string]string{
		"include":              "include: [" + outside + "]\n" + a,
		"include above":        "include: [../outside.yaml]\n" + a,
		"include by a link":    "include: [link.yaml]\n" + a,
		"include by env":       "include: ['${NAME}/../../../outside.yaml']\n" + a,
		"include's variables":  "include: [{path: sub/ok.yaml, env_file: " + outside + "}]\n" + a,
		"include's folder":     "include: [{path: sub/ok.yaml, project_directory: ..}]\n" + a,
		"include's own .env":   "include: [evil/ok.yaml]\n" + a,
		"include's own word":   "include: [own/ok.yaml]\n" + a,
		"extends":              "services: {a: {extends: {file: " + outside + ", service: x}}}\n",
		"extends by a link":    "services: {a: {extends: {file: link.yaml, service: x}}}\n",
		"extends by an alias":  "x-f: &f " + outside + "\nservices: {a: {extends: {file: *f, service: x}}}\n",
		"extends by a merge":   "x-f: &f {file: " + outside + "}\nservices: {a: {extends: {<<: *f, service: x}}}\n",
		"extends, many merged": "x-f: &f {file: " + outside + "}\nx-g: &g {a: b}\nservices: {a: {extends: {<<: [*g, *f], service: x}}}\n",
		"extends, merged far":  "x-f: &f {file: " + outside + "}\nx-g: &g {<<: *f}\nservices: {a: {extends: {<<: *g, service: x}}}\n",
		"extends in base64":    "services: {a: {extends: {file: !!binary " + base64.StdEncoding.EncodeToString([]byte(outside)) + ", service: x}}}\n",
		"a key in base64":      "!!binary aW5jbHVkZQ==: [" + outside + "]\n" + a,
		"a key by an alias":    "x-k: &k include\n*k : [" + outside + "]\n" + a,
		"a second document":    a + "---\ninclude: [" + outside + "]\n",
		"env_file":             "services: {a: {image: a, env_file: " + outside + "}}\n",
		"env_file by a link":   "services: {a: {image: a, env_file: link.yaml}}\n",
		"env_file in a nested": "include: [sub/env.yaml]\n" + a,
		"label_file":           "services: {a: {image: a, label_file: " + outside + "}}\n",
		"context":              "services: {a: {build: ..}}\n",
		"context elsewhere":    "services: {a: {build: /etc}}\n",
		"context by address":   "services: {a: {build: 'https://example.com/x.git'}}\n",
		"dockerfile":           "services: {a: {build: {context: ., dockerfile: ../../Dockerfile}}}\n",
		"config":               "services: {a: {image: a, configs: [c]}}\nconfigs: {c: {file: " + outside + "}}\n",
		"secret above":         "services: {a: {image: a, secrets: [c]}}\nsecrets: {c: {file: ../outside.yaml}}\n",
		"mount beside":         "services: {a: {image: a, volumes: ['../other:/x']}}\n",
		"volume's options":     "services: {a: {image: a, volumes: ['v:/x']}}\nvolumes: {v: {driver_opts: {type: none, o: bind, device: /etc}}}\n",
		"another's volume":     "services: {a: {image: a, volumes: ['v:/x']}}\nvolumes: {v: {external: true}}\n",
	}
	for name, text := range tests {
		dir := t.TempDir()
		write(t, dir, "compose.yaml", text)
		write(t, dir, "sub/ok.yaml", "services: {b: {image: b}}\n")
		write(t, dir, "sub/env.yaml", "services: {b: {image: b, env_file: ../../outside.yaml}}\n")
		write(t, dir, "evil/ok.yaml", "services: {b: {image: b}}\n")
		write(t, dir, "own/ok.yaml", "services: {b: {extends: {file: '${WHERE:-other.yaml}', service: x}}}\n")
		write(t, dir, "own/other.yaml", "services: {x: {image: b}}\n")
		write(t, dir, "own/.env", "WHERE="+outside+"\n")
		for _, link := range []string{"link.yaml", "evil/.env"} {
			if err := os.Symlink(outside, filepath.Join(dir, link)); err != nil {
				t.Fatal(err)
			}
		}
		spec := &topology.Spec{Image: "job", Env: map[string]string{"NAME": "sub"}, Compose: topology.Compose{Files: []string{"compose.yaml"}}}
		out, _, failure := compose.Load(t.Context(), dir, spec)
		if failure == nil {
			t.Errorf("%s: %+v", name, out.Services)
		} else if words := failure.Message; strings.Contains(words, "leaked") || strings.Contains(words, outside) && !strings.Contains(words, "not inside") && !strings.Contains(words, "must be relative") {
			t.Errorf("%s: %s", name, words) // what is refused only for what it is was read
		}
	}
	spec, failure := load(t, "version: \"\ninclude: ["+outside+"]\nversion: \"\n"+a, nil)
	if failure != nil || len(spec.Services) != 1 {
		t.Errorf("a version that hides an include: %+v %+v", spec, failure)
	}
	spec, failure = load(t, "services: {a: {image: 'a:${RUNNERHUB_SECRET:-none}', environment: {RUNNERHUB_SECRET: , NAME: , HOME: }}}\n", nil)
	if failure != nil {
		t.Fatalf("%+v", failure)
	}
	if got := spec.Services["a"]; got.Image != "a:none" || len(got.Environment) != 1 || got.Environment["NAME"] != "value" {
		t.Errorf("%+v", got)
	}
}

func TestFilesThatAreWrong(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text  string
		class topology.Class
		words string
	}{
		"no YAML":             {"services: [", "spec_invalid", "compose.yaml"},
		"nothing":             {"", "spec_invalid", ""},
		"no such field":       {"services:\n  a: {imge: a}\n", "spec_invalid", `compose.yaml: line 2: services.a.imge: unknown field; did you mean "image"?`},
		"a profile":           {"services: {a: {image: a, depends_on: [b]}, b: {image: b, profiles: [debug]}}\n", "spec_invalid", `"a" depends on "b", whose profiles (debug) are not among the job's`},
		"no service":          {"services: {a: {image: a, profiles: [x]}}\n", "spec_invalid", "profiles"},
		"a variable":          {"services: {a: {image: '${TAG:?say the tag}'}}\n", "spec_invalid", "say the tag"},
		"the job's name":      {"services: {job: {image: a}}\n", "spec_invalid", "taken"},
		"a circle":            {"services: {a: {image: a, depends_on: [b]}, b: {image: b, depends_on: [a]}}\n", "spec_invalid", ""},
		"no such env file":    {"services: {a: {image: a, env_file: none.env}}\n", "spec_invalid", "none.env is not in the job's source"},
		"a namespace":         {"services: {a: {image: a, network_mode: 'service:b'}, b: {image: b}}\n", "spec_invalid", "another container's namespace"},
		"no entrypoint":       {"services: {a: {image: a, entrypoint: []}}\n", "spec_invalid", "entrypoint"},
		"too many":            {"services: {a: {image: a, scale: 40}}\n", "spec_invalid", "1 to 32"},
		"an address":          {"services: {a: {image: a, networks: {n: {ipv4_address: 10.0.0.1}}}}\nnetworks: {n: }\n", "spec_invalid", "ipv4_address"},
		"more confinement":    {"services: {a: {image: a, security_opt: ['seccomp:unconfined']}}\n", "spec_invalid", "seccomp"},
		"a folder above":      {"services: {a: {build: {context: ../..}}}\n", "spec_invalid", `"../.." is not inside the source`},
		"includes each other": {"include: [compose.yaml]\nservices: {a: {image: a}}\n", "spec_invalid", "cycle"},
	}
	for name, tt := range tests {
		_, failure := load(t, tt.text, nil)
		if failure == nil || failure.Class != tt.class || !strings.Contains(failure.Message, tt.words) {
			t.Errorf("%s: %+v", name, failure)
		} else if strings.Contains(failure.Message, os.TempDir()) {
			t.Errorf("%s tells where the source is: %s", name, failure.Message)
		}
	}
	missing := &topology.Spec{Image: "job", Compose: topology.Compose{Files: []string{"none.yaml"}}}
	if _, _, failure := compose.Load(t.Context(), t.TempDir(), missing); failure == nil || failure.Class != topology.ClassSpecInvalid {
		t.Errorf("%+v", failure)
	}
	if _, _, failure := compose.Load(t.Context(), "", missing); failure == nil || failure.Class != topology.ClassSpecInvalid {
		t.Errorf("%+v", failure)
	}
}

// What a variable without a value comes to is the job's log's to tell, and nobody else's.
func TestVariablesThatAreNotSet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "compose.yaml", "services: {a: {image: 'a:v${TAG}', command: 'x $HOME ${SET} ${A:-b} $$NAME', environment: {OWN: }}}\n")
	spec := &topology.Spec{Image: "job", Env: map[string]string{"SET": "1"}, Compose: topology.Compose{Files: []string{"compose.yaml"}}}
	_, notes, failure := compose.Load(t.Context(), dir, spec)
	if failure != nil {
		t.Fatalf("%+v", failure)
	}
	want := []string{
		"Compose: the variable HOME is not in the job's env, and empty (compose.yaml)",
		"Compose: the variable TAG is not in the job's env, and empty (compose.yaml)",
	}
	if diff := cmp.Diff(want, notes); diff != "" {
		t.Error(diff)
	}
}
