package topology_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/topology"
)

func TestDemands(t *testing.T) {
	t.Parallel()
	spec := parseFile(t, "full.yaml")
	var got []topology.Demand
	for _, d := range spec.Demands() {
		if d.Reason() == "" {
			t.Errorf("%+v has no reason", d)
		}
		got = append(got, d)
	}
	of := func(p topology.Power, value string) topology.Demand {
		return topology.Demand{Power: p, Service: "mighty", Value: value}
	}
	want := []topology.Demand{
		of("privileged", ""), of("cap_add", "NET_ADMIN"), of("cap_add", "SYS_TIME"), of("host_modes", "network"), of("host_modes", "pid"),
		of("host_modes", "ipc"), of("host_modes", "uts"), of("host_modes", "userns"), of("host_modes", "cgroup"),
		of("devices", "/dev/kvm"), of("devices", "/dev/ttyUSB0"), of("gpus", ""), of("docker_socket", ""),
		of("ports", "auto"), of("ports", "8080"), of("ports", "53"), of("ports", "8443"),
		{Power: "mounts", Service: "web", Value: "/opt/tools:ro"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A folder that holds an engine's socket is as good as the socket.
func TestSocketsByTheirFolders(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]topology.Power{
		"/var/run/docker.sock": "docker_socket", "/run/user/1000/docker.sock": "docker_socket", "/var/run": "docker_socket", "/": "docker_socket",
		"/run/podman": "docker_socket", "/var": "docker_socket", "/var/lib": "mounts", "/var/runs": "mounts", "/home": "mounts",
	} {
		spec := &topology.Spec{Services: map[string]topology.Service{"a": {
			Volumes: []topology.Mount{{Type: topology.MountBind, Source: source, Target: "/x"}},
		}}}
		if got := spec.Demands(); len(got) != 1 || got[0].Power != want {
			t.Errorf("%s: %+v", source, got)
		}
	}
}
