package docker_test

import (
	"strings"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/attempt"
	"github.com/runnerhub/runnerhub/topology/docker"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// tellAll has a job tell what it could know its network by, but for addresses.
const tellAll = `hostname; grep -c . /etc/hosts; grep -w job /etc/hosts | wc -l; cat /etc/resolv.conf; nslookup job >/dev/null && echo found; ls /sys/class/net
ip route | sed 's/[0-9.]*\/[0-9]*/NET/; s/[0-9]*\.[0-9]*\.[0-9]*\.[0-9]*/ADDRESS/g'; ip route get 169.254.169.254 2>/dev/null | awk '{print $1; exit}'
awk '/Cap/' /proc/self/status; cat /proc/1/comm; cat /proc/sys/net/ipv4/ip_unprivileged_port_start; netstat -ltun 2>/dev/null | grep -vc 127.0.0.11; id; true`

// TestPodCannotBeToldApart has the same jobs run in a pod and without one.
func TestPodCannotBeToldApart(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		mode     topology.NetworkMode
		metadata bool
	}{"open": {topology.NetworkOpen, false}, "open, by policy": {topology.NetworkOpen, true}, "restricted": {topology.NetworkRestricted, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := identity(t)
			e := newExecutor(t, id.Hub, docker.Options{Options: attempt.Options{WarmFor: time.Hour, Pods: true}})
			l := &warmLab{T: t, id: id}
			said := map[string]string{}
			for _, how := range []string{"without", "in a pod"} {
				obs := &topologytest.Observer{}
				id.Job += "x"
				pod := ""
				if how == "in a pod" {
					pod = l.awaitPod("")
				}
				r := e.Run(t.Context(), topology.Work{Identity: id, Metadata: tt.metadata, Spec: &topology.Spec{
					Image: busybox, Network: tt.mode, Steps: []topology.Step{{Name: "tell", Run: tellAll}},
				}}, obs)
				wantResult(t, r, "succeeded 0")
				said[how] = obs.Text(topology.Stdout, "") + obs.Text(topology.Stderr, "")
				if pod != "" && l.awaitPod(pod) == pod {
					t.Error("the pod was not used")
				}
			}
			if said["in a pod"] != said["without"] || !strings.HasPrefix(said["without"], "job\n") {
				t.Errorf("in a pod the job tells\n%s\nand without\n%s", said["in a pod"], said["without"])
			}
		})
	}
}

// awaitPod waits until there is a pod that runs, and is not the one before.
func (l *warmLab) awaitPod(before string) string {
	l.Helper()
	engine := l.engine()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(time.Minute); time.Now().Before(limit); <-tick.C {
		seen, err := engine.Observe(l.Context(), topology.Filter{Hub: l.id.Hub})
		if err != nil {
			l.Fatal(err)
		}
		for _, c := range seen.Containers {
			if c.Running && c.Labels[topology.LabelRole] == topology.RoleWarm && c.Name != before {
				return c.Name
			}
		}
	}
	l.Fatal("no pod is made")
	return ""
}

// TestPodEndsBeforeItsJob has a pod killed: the next job does without.
func TestPodEndsBeforeItsJob(t *testing.T) {
	t.Parallel()
	l := &warmLab{T: t, id: identity(t)}
	l.e = newExecutor(t, l.id.Hub, docker.Options{Options: attempt.Options{WarmFor: time.Hour, Pods: true}})
	spec := &topology.Spec{Image: busybox, Command: []string{"true"}}
	l.job("", spec, false)
	pod := l.awaitPod("")
	if err := l.engine().RemoveContainer(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	l.job("", spec, false)
	l.awaitPod(pod)
}
