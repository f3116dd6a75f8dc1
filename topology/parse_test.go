package topology_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/topology"
)

const minute = topology.Duration(time.Minute)

// parseFile reads a spec of testdata and holds it to the round trip.
func parseFile(t *testing.T, name string) *topology.Spec {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata/specs/valid", name))
	if err != nil {
		t.Fatal(err)
	}
	spec, err := topology.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	checkRoundTrip(t, spec)
	return spec
}

func TestParseMinimal(t *testing.T) {
	t.Parallel()
	want := &topology.Spec{
		Image:   "hello-world",
		Pull:    topology.PullMissing,
		Network: topology.NetworkOpen,
		Grace:   topology.Duration(10 * time.Second),
	}
	if diff := cmp.Diff(want, parseFile(t, "minimal.yaml")); diff != "" {
		t.Error(diff)
	}
}

func TestParseFull(t *testing.T) {
	t.Parallel()
	const second = topology.Duration(time.Second)
	want := &topology.Spec{
		Name:  "integration tests",
		Image: "registry.example:5000/team/go@sha256:2fdab9bd3b5c8b4ae1d56b9ae5ad1e5a1fc9c2b9e6c9b7a4a0b8b2f5e6d7c8a9",
		Steps: []topology.Step{
			{Name: "migrate", Run: "./scripts/migrate.sh", Env: map[string]string{"DATABASE_URL": "postgres://db/app"}},
			{Name: "step 2", Run: "go vet ./...\ngo test ./...\n"},
			{Name: "logs", Run: "cat /srv/*.log", Always: true},
		},
		Shell: []string{"/bin/bash", "-e", "-o", "pipefail", "-c"},
		Services: map[string]topology.Service{
			"db": {
				Image:       "postgres:16",
				Environment: map[string]string{"POSTGRES_PASSWORD": "x", "discovery.type": "single-node"},
				Healthcheck: &topology.Healthcheck{
					Test: []string{"CMD", "pg_isready"}, Interval: second / 2, Timeout: 2 * second,
					StartPeriod: 90 * second, Retries: 60,
				},
				User:      "999:999",
				Tmpfs:     []string{"/var/lib/postgresql/data:size=256m,mode=1777"},
				Resources: topology.Resources{CPUs: 0.5, Memory: 512 << 20, Pids: 200},
				Ulimits:   map[string]topology.Ulimit{"memlock": {Soft: -1, Hard: -1}},
			},
			"cache": {
				Image:       "redis",
				Healthcheck: &topology.Healthcheck{Test: []string{"NONE"}},
				Resources:   topology.Resources{CPUs: 1, Memory: 64 << 20},
			},
			"app": {
				Image:       "registry.example/app",
				Command:     []string{"serve", "--name", "my app", "--port", "80"},
				Entrypoint:  []string{"/bin/app"},
				WorkingDir:  "/srv",
				Environment: map[string]string{"A": "1", "B": "", "C": "x=y"},
				Healthcheck: &topology.Healthcheck{
					Test: []string{"CMD-SHELL", "curl -f http://localhost/"}, Interval: second, Timeout: 30 * second, Retries: 30,
				},
				DependsOn: map[string]topology.Dependency{
					"db":    {Condition: topology.ServiceHealthy},
					"cache": {Condition: topology.ServiceStarted},
					"seed":  {Condition: topology.ServiceCompleted},
				},
				Tmpfs: []string{"/tmp", "/run:size=1m"},
			},
			"seed": {
				Image:     "registry.example/seed",
				DependsOn: map[string]topology.Dependency{"db": {Condition: topology.ServiceStarted}},
			},
			"web":    fullWeb,
			"mighty": fullMighty,
		},
		Volumes: map[string]topology.Volume{"data": {}},
		Configs: map[string]topology.FileSource{"web": {File: "web/conf.toml"}, "motd": {Content: "hello"}},
		Secrets: map[string]topology.FileSource{"token": {Environment: "ANSWER"}},
		Env: map[string]string{
			"CGO_ENABLED": "0", "VERSION": "1.10", "ANSWER": "yes", "HEX": "0x1F", "WHEN": "2026-01-02",
			"DEBUG": "true", "EMPTY": "", "LITERAL": "${HOME} $$",
		},
		WorkingDir:  "/work",
		User:        "1000",
		Requires:    []string{"amd64", "docker", "linux"},
		Labels:      []string{"Big.one_2", "gpu-box"},
		Platform:    "linux/arm/v7",
		Pull:        topology.PullAlways,
		Resources:   topology.Resources{CPUs: 2.5, Memory: 4 << 30, Pids: 1024, Disk: 10 << 30},
		Ulimits:     map[string]topology.Ulimit{"nofile": {Soft: 65536, Hard: 65536}, "core": {Soft: 0, Hard: -1}},
		Network:     topology.NetworkRestricted,
		Timeout:     90 * minute,
		IdleTimeout: 10 * minute,
		Grace:       minute / 2,
		Retry:       topology.Retry{MaxAttempts: 3, On: []string{"image_pull", "runner_lost"}},

		Artifacts: []topology.Artifact{
			{Name: "reports", Path: "out/**/*.xml"}, {Name: "dist", Path: "dist", Optional: true}, {Name: "build.log", Path: "build.log"},
		},
		Reports:     topology.Reports{JUnit: []string{"out/**/*.xml"}},
		Concurrency: topology.Concurrency{Group: "deploy production", CancelRunning: true},
	}
	if diff := cmp.Diff(want, parseFile(t, "full.yaml")); diff != "" {
		t.Error(diff)
	}
}

// What a session does not say follows from its being one; a job's kind is what every job is.
func TestParseKinds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]topology.Spec{
		"image: a\nkind: job":     {},
		"image: a\nkind: session": {Kind: topology.JobSession, Exec: true, IdleTimeout: topology.Duration(10 * time.Minute), Retry: topology.Retry{MaxAttempts: 1}, Shell: []string{"/bin/sh", "-e", "-c"}},
		"image: a\nkind: session\nexec: true\nidle_timeout: 1h\nretry: {max_attempts: 2}\nshell: bash": {
			Kind: topology.JobSession, Exec: true, IdleTimeout: topology.Duration(time.Hour), Retry: topology.Retry{MaxAttempts: 2}, Shell: []string{"/bin/bash", "-e", "-o", "pipefail", "-c"},
		},
	} {
		want.Image, want.Pull, want.Network, want.Grace = "a", topology.PullMissing, topology.NetworkOpen, topology.Duration(topology.DefaultGrace)
		got, err := topology.Parse([]byte(text))
		if diff := cmp.Diff(&want, got); err != nil || diff != "" {
			t.Errorf("%q: %v\n%s", text, err, diff)
		}
	}
}

// fullWeb has what is special about a service in full.yaml.
var fullWeb = topology.Service{
	Image: "registry.example/web",
	Build: &topology.Build{
		Context: "web", Dockerfile: "docker/Dockerfile", Args: map[string]string{"VERSION": "1.10"}, Target: "test",
		Network: "none", NoCache: true, Pull: true, ShmSize: 64 << 20, ExtraHosts: []string{"mirror=10.0.0.1"},
	},
	Platform: "linux/amd64", Scale: 3, GroupAdd: []string{"1000", "audio"}, Hostname: "web", Aliases: []string{"frontend", "www"},
	ExtraHosts: []string{"api.example=10.0.0.7", "host.example=host-gateway", "v6.example=::1"},
	Tmpfs:      []string{"/scratch:size=1048576,mode=0700"},
	Volumes: []topology.Mount{
		{Type: topology.MountVolume, Source: "data", Target: "/var/lib/data"},
		{Type: topology.MountBind, Source: "web/public", Target: "/srv/public", ReadOnly: true},
		{Type: topology.MountVolume, Target: "/cache"},
		{Type: topology.MountBind, Source: "/opt/tools", Target: "/tools", ReadOnly: true},
	},
	Configs: []topology.FileMount{
		{Source: "web", Target: "/web"}, {Source: "motd", Target: "/etc/motd", UID: "7", GID: "7", Mode: "0440"},
	},
	Secrets:   []topology.FileMount{{Source: "token", Target: "/run/secrets/token"}, {Source: "token", Target: "/run/secrets/other"}},
	Resources: topology.Resources{CPUs: 0.5, Memory: 50 << 20, Pids: 10},
	Ulimits:   map[string]topology.Ulimit{"nofile": {Soft: 1024, Hard: 2048}, "memlock": {Soft: -1, Hard: -1}},
	ShmSize:   128 << 20, Sysctls: map[string]string{"net.core.somaxconn": "1024"},
	Init: true, ReadOnly: true, SecurityOpt: []string{"no-new-privileges:true"}, StdinOpen: true, CapDrop: []string{"ALL"},
	StopSignal: "SIGINT", StopGrace: topology.Duration(3 * time.Second),
	Healthcheck: &topology.Healthcheck{
		Test: []string{"CMD", "up"}, Interval: topology.Duration(time.Second), Timeout: topology.Duration(30 * time.Second),
		StartPeriod: topology.Duration(10 * time.Second), StartInterval: topology.Duration(100 * time.Millisecond), Retries: 30,
	},
}

// fullMighty asks for everything that only an owner can allow.
var fullMighty = topology.Service{
	Image:   "registry.example/mighty",
	Volumes: []topology.Mount{{Type: topology.MountBind, Source: "/var/run/docker.sock", Target: "/var/run/docker.sock"}},
	Powers: topology.Powers{
		Privileged: true, CapAdd: []string{"NET_ADMIN", "SYS_TIME"},
		Devices: []string{"/dev/kvm:/dev/kvm:rwm", "/dev/ttyUSB0:/dev/tty0:rw"}, GPUs: &topology.GPUs{Count: -1},
		NetworkMode: "host", PID: "host", IPC: "host", UTS: "host", Userns: "host", Cgroup: "host",
		Ports: []string{":80/tcp", "8080:80/tcp", "127.0.0.1:53:53/udp", "[::1]:8443:443/tcp"},
	},
}

func TestParseJSON(t *testing.T) {
	t.Parallel()
	spec := parseFile(t, "agent.json")
	if diff := cmp.Diff([]string{"go", "test", "./...", "5", "true"}, spec.Command); diff != "" {
		t.Error(diff)
	}
	env := map[string]string{"VERSION": "1.10", "BIG": "1E400", "EMOJI": "😀", "CONTROL": "a\x01b"}
	if diff := cmp.Diff(env, spec.Env); diff != "" {
		t.Error(diff)
	}
}

func TestParseAnchors(t *testing.T) {
	t.Parallel()
	want := []topology.Step{
		{Name: "one", Run: "echo one", Env: map[string]string{"A": "1", "B": "2"}},
		{Name: "two", Run: "echo one", Env: map[string]string{"A": "1", "B": "2"}},
		{Name: "three", Run: "echo three", Env: map[string]string{"A": "1", "B": "3"}},
	}
	if diff := cmp.Diff(want, parseFile(t, "anchors.yaml").Steps); diff != "" {
		t.Error(diff)
	}
}

// Ways to write one and the same spec.
func TestParseSpellings(t *testing.T) {
	t.Parallel()
	tests := map[string][2]string{
		"byte order mark": {"\ufeffimage: a", "image: a"},
		"CR LF":           {"image: a\r\nsteps:\r\n- run: |\r\n    x\r\n    y\r\n", "image: a\nsteps: [{run: \"x\\ny\\n\"}]"},
		"CR":              {"image: a\rname: b\r", "image: a\nname: b"},
		"JSON with tabs":  {"{\n\t\"image\": \"a\"\n}", "image: a"},
		"trailing comma":  {`{"image": "a",}`, "image: a"},
		"a document mark": {"---\nimage: a\n...\n", "image: a"},
		"str tag":         {"image: !!str 5", `image: "5"`},
		"the default shell": {
			"image: a\nsteps: [{run: x}]\nshell: sh", "image: a\nsteps: [{run: x, name: step 1}]",
		},
		"shell as a command": {"image: a\nsteps: [{run: x}]\nshell: zsh -c", "image: a\nsteps: [{run: x}]\nshell: [zsh, -c]"},
		"grace of zero":      {"image: a\ngrace: 0", "image: a\ngrace: 10s"},
		"durations":          {"image: a\ntimeout: 5400s", "image: a\ntimeout: 1.5h"},
		"sizes":              {"image: a\nresources: {memory: 1.5g}", "image: a\nresources: {memory: 1610612736}"},
		"sizes with a space": {"image: a\nresources: {memory: 512 MB}", "image: a\nresources: {memory: 512mib}"},
		"empty mappings":     {"image: a\nenv: {}\nservices: {}\nresources: {}\nretry: {}", "image: a"},
		"healthcheck none": {
			"image: a\nservices: {b: {image: c, healthcheck: {test: NONE is a word here}}}",
			"image: a\nservices: {b: {image: c, healthcheck: {test: [CMD-SHELL, NONE is a word here]}}}",
		},
		"an enabled healthcheck": {
			"image: a\nservices: {b: {image: c, healthcheck: {test: x, disable: false}}}",
			"image: a\nservices: {b: {image: c, healthcheck: {test: x}}}",
		},
		"a disabled healthcheck": {
			"image: a\nservices: {b: {image: c, healthcheck: {test: [NONE], interval: 5s}}}",
			"image: a\nservices: {b: {image: c, healthcheck: {disable: true}}}",
		},
		"quotes in a command": {
			`{"image": "a", "command": "sh -c 'a  b' \"c d\" e\\ f ''"}`,
			`{"image": "a", "command": ["sh", "-c", "a  b", "c d", "e f", ""]}`,
		},
		"unexpanded command": {"image: a\ncommand: echo $HOME ${X} $(x)", "image: a\ncommand: [echo, $HOME, '${X}', $(x)]"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := topology.Parse([]byte(tc[0]))
			if err != nil {
				t.Fatal(err)
			}
			want, err := topology.Parse([]byte(tc[1]))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
