package policy_test

import (
	"slices"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/policy"
)

// Everything that a service can ask for beyond its container is a rule of its own,
// which no machine allows until its owner does.
func TestDemandsAreRefusedUntilAllowed(t *testing.T) {
	t.Parallel()
	spec, err := topology.Parse([]byte(`
image: a
services:
  b:
    image: c
    privileged: true
    cap_add: [NET_ADMIN]
    devices: [/dev/kvm]
    gpus: all
    network_mode: host
    pid: host
    ports: ["8080:80", "90"]
    volumes: [/srv/data:/data:ro, /var/run/docker.sock:/var/run/docker.sock]
`))
	if err != nil {
		t.Fatal(err)
	}
	var rules []policy.Rule
	for _, v := range policy.Check(nil, spec, time.Time{}) {
		if v.Container != "b" {
			t.Errorf("%+v", v)
		}
		rules = append(rules, v.Rule)
	}
	want := []policy.Rule{
		policy.RulePrivileged, policy.RuleCapAdd, policy.RuleHostModes, policy.RuleHostModes, policy.RuleDevices, policy.RuleGPUs,
		policy.RuleDockerSocket, policy.RuleMounts, policy.RulePorts, policy.RulePorts,
	}
	if !slices.Equal(rules, want) {
		t.Errorf("%v", rules)
	}
	allowed := &policy.Policy{
		Privileged: true, CapAdd: []string{"NET_ADMIN"}, HostModes: []policy.HostMode{policy.HostNetwork, policy.HostPID},
		Devices: []string{"/dev/kvm"}, GPUs: true, DockerSocket: true, Ports: []string{"8080", policy.AutoPort},
		Mounts: []policy.Mount{{Path: "/srv", ReadOnly: true}},
	}
	if left := policy.Check(allowed, spec, time.Time{}); len(left) > 0 {
		t.Errorf("%v", left)
	}
}
