package docker_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/docker"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

func TestServicesInTheirOrder(t *testing.T) {
	t.Parallel()
	// The image's own HEALTHCHECK, with an interval that nobody would wait for.
	withCheck := importImage(t, shellFiles(t, "sh", "sleep", "touch", "test"), "ENV PATH=/bin", `HEALTHCHECK --interval=10m CMD test -e /ready`)
	id := identity(t)
	e, obs := newExecutor(t, id.Hub, docker.Options{}), &topologytest.Observer{}
	begin := time.Now()
	r := e.Run(t.Context(), topology.Work{Identity: id, Spec: &topology.Spec{
		Image: busybox, Network: topology.NetworkRestricted,
		Command: sh(`for s in db seed app job; do ping -c 1 -W 2 $s >/dev/null 2>&1 && echo reached $s; done`),
		Services: map[string]topology.Service{
			"app": {
				Image: busybox, Entrypoint: []string{"/bin/sh"}, Command: []string{"-c", "nslookup db >/dev/null && echo db is there; id -u; pwd; grep -c ' /scratch tmpfs' /proc/mounts; echo $X; exec sleep 1000"},
				User: "7", WorkingDir: "/tmp", Tmpfs: []string{"/scratch:size=1m"}, Environment: map[string]string{"X": "y"},
				DependsOn: map[string]topology.Dependency{"db": {Condition: topology.ServiceHealthy}, "seed": {Condition: topology.ServiceCompleted}},
			},
			"seed": {Image: busybox, Command: sh("sleep 0.2; echo seeded"), DependsOn: map[string]topology.Dependency{"db": {Condition: topology.ServiceStarted}}},
			"db":   {Image: withCheck, Command: sh("sleep 0.3; touch /ready; exec sleep 1000")},
		},
	}}, obs)
	wantResult(t, r, "succeeded 0")
	if got := obs.Text(topology.Stdout, ""); got != "reached db\nreached app\nreached job\n" {
		t.Errorf("job %q; stderr %q", got, obs.Text(topology.Stderr, ""))
	}
	if got := obs.Text(topology.Stdout, "app"); got != "db is there\n7\n/tmp\n1\ny\n" {
		t.Errorf("app %q", got)
	}
	if got := obs.Text(topology.Stdout, "seed"); got != "seeded\n" {
		t.Errorf("seed %q", got)
	}
	if took := time.Since(begin); took > 5*time.Minute {
		t.Errorf("took %s; was the image's interval waited for?", took)
	}
}

func TestServicesThatFail(t *testing.T) {
	t.Parallel()
	bare := importImage(t, shellFiles(t))
	tests := map[string]struct {
		service topology.Service
		want    string
		words   []string
	}{
		"ends early": {topology.Service{Image: busybox, Command: sh("echo no config >&2; exit 3"), Healthcheck: &topology.Healthcheck{Test: []string{"CMD", "false"}}},
			"failed service_unhealthy db", []string{"exited with code 3", "no config"}},
		"is never healthy": {topology.Service{Image: busybox, Command: sh("echo up; exec sleep 1000"), Healthcheck: &topology.Healthcheck{
			Test: []string{"CMD-SHELL", "echo not yet; exit 1"}, Interval: topology.Duration(10 * time.Millisecond), Retries: 2,
		}}, "failed service_unhealthy db", []string{"failed 2 times", "not yet", "\nup"}},
		"has no such program": {topology.Service{Image: busybox, Command: []string{"/nosuch"}}, "failed spec_invalid db", []string{"/nosuch"}},
		"runs out of memory": {topology.Service{Image: busybox, Command: []string{"tail", "/dev/zero"}, Resources: topology.Resources{Memory: 16 << 20},
			Healthcheck: &topology.Healthcheck{Test: []string{"CMD", "false"}, Retries: 1000}}, "failed oom db", []string{"ran out of its 16MiB of memory"}},
		"a check that hangs": {topology.Service{Image: busybox, Command: sh("echo up; exec sleep 1000"), Healthcheck: &topology.Healthcheck{
			Test: []string{"CMD", "sleep", "1000"}, Interval: topology.Duration(time.Millisecond), Timeout: topology.Duration(200 * time.Millisecond), Retries: 2,
		}}, "failed service_unhealthy db", []string{"failed 2 times", "last took longer than 200ms"}},
		"a check for a shell that is not there": {topology.Service{Image: bare, Command: []string{"/bin/busybox", "sleep", "1000"}, Healthcheck: &topology.Healthcheck{
			Test: []string{"CMD-SHELL", "true"}, Interval: topology.Duration(time.Millisecond), Retries: 2,
		}}, "failed service_unhealthy db", []string{"/bin/sh"}},
	}
	id := identity(t)
	e := newExecutor(t, id.Hub, docker.Options{})
	for name, tt := range tests {
		r := e.Run(t.Context(), topology.Work{Identity: id, Spec: &topology.Spec{
			Image: busybox, Command: []string{"sleep", "1000"}, Services: map[string]topology.Service{"db": tt.service},
		}}, &topologytest.Observer{})
		t.Log(name)
		wantResult(t, r, tt.want, tt.words...)
	}
}

func TestServiceThatDiesUnderTheJob(t *testing.T) {
	t.Parallel()
	id := identity(t)
	e := newExecutor(t, id.Hub, docker.Options{})
	r := e.Run(t.Context(), topology.Work{Identity: id, Spec: &topology.Spec{
		Image: busybox, Command: sh("touch /tmp/x; wget -q http://db:8080/ || exec sleep 1000"),
		Services: map[string]topology.Service{"db": {Image: busybox, Command: sh("nc -l -p 8080 >/dev/null; echo dying; exit 6")}},
	}}, &topologytest.Observer{})
	if r.Failure == nil || r.Failure.Class != topology.ClassServiceUnhealthy || !strings.Contains(r.Failure.Message, "dying") {
		t.Errorf("%+v", r)
	}
}

// TestRestrictedNetwork has a job connect to this machine: over an open network it
// can, over a restricted one not even that, though its service is reached.
func TestRestrictedNetwork(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan struct{})
	go func() {
		defer close(accepted)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	defer func() { _ = listener.Close(); <-accepted }()
	port := itoa(listener.Addr().(*net.TCPAddr).Port)
	id := identity(t)
	e := newExecutor(t, id.Hub, docker.Options{})
	script := sh(`gateway=$(ip route | awk '/default/ {print $3}'); nc -w 5 db 80 </dev/null && echo service
nc -w 3 "${gateway:-127.0.0.1}" ` + port + ` </dev/null && echo machine; true`)
	for mode, want := range map[topology.NetworkMode]string{
		topology.NetworkOpen: "service\nmachine\n", topology.NetworkRestricted: "service\n",
	} {
		obs := &topologytest.Observer{}
		r := e.Run(t.Context(), topology.Work{Identity: id, Spec: &topology.Spec{
			Image: busybox, Network: mode, Command: script,
			Services: map[string]topology.Service{"db": {
				Image: busybox, Command: []string{"httpd", "-f", "-p", "80"},
				Healthcheck: &topology.Healthcheck{Test: []string{"CMD-SHELL", "nc -w 1 127.0.0.1 80 </dev/null"}},
			}},
		}}, obs)
		wantResult(t, r, "succeeded 0")
		if got := obs.Text(topology.Stdout, ""); got != want {
			t.Errorf("%s: %q; %s", mode, got, obs.Text(topology.Stderr, ""))
		}
	}
}

func TestNoNetwork(t *testing.T) {
	t.Parallel()
	id := identity(t)
	e, obs := newExecutor(t, id.Hub, docker.Options{}), &topologytest.Observer{}
	r := e.Run(t.Context(), topology.Work{Identity: id, Spec: &topology.Spec{
		Image: busybox, Network: topology.NetworkNone, Command: sh("grep -c : /proc/net/dev; ls /sys/class/net"),
	}}, obs)
	wantResult(t, r, "succeeded 0")
	if got := obs.Text(topology.Stdout, ""); !strings.Contains(got, "lo") || strings.Contains(got, "eth") {
		t.Errorf("%q", got)
	}
}
