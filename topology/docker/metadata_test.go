package docker_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/docker"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// TestMetadataAddresses asks the kernel of a job, which is root in its container, where
// packets to the addresses of clouds' metadata would go. No machine has to answer there
// to see that they go nowhere.
func TestMetadataAddresses(t *testing.T) {
	t.Parallel()
	id := identity(t)
	e := newExecutor(t, id.Hub, docker.Options{})
	// A restricted network has a gateway that nobody is. NET_RAW is the 13th capability:
	// with it packets could be sent past the routes.
	script := `way() { ip route get "$1" 2>/dev/null | head -n 1 | awk '/via/ {print "gateway"; next} {print $1 == "local" ? "local" : "link"}' | grep . || echo none; }
echo "$(way 169.254.169.254) $(way 169.254.170.2) $(way 192.0.2.1)"
nc -w 1 192.0.2.1 80 </dev/null 2>/dev/null && echo answered
echo "neighbours $(grep -c ' 0x2 ' /proc/net/arp)"
caps=$(awk '/CapEff/ {print $2}' /proc/self/status); echo "raw $(( (0x$caps >> 13) & 1 ))"
echo "ipv6 $(grep -vc ' lo$' /proc/net/if_inet6 2>/dev/null || true)"; true`
	tests := map[string]struct {
		mode     topology.NetworkMode
		metadata bool
		want     string
	}{
		"open":            {topology.NetworkOpen, false, "local link gateway\nneighbours 1\nraw 0\nipv6 0\n"},
		"open, by policy": {topology.NetworkOpen, true, "gateway gateway gateway\nneighbours 1\nraw 1\nipv6 0\n"},
		"restricted":      {topology.NetworkRestricted, false, "gateway gateway gateway\nneighbours 0\nraw 1\nipv6 0\n"},
		"none":            {topology.NetworkNone, false, "none none none\nneighbours 0\nraw 1\nipv6 0\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := id
			own.Job += topology.NewTag()
			spec := &topology.Spec{Image: busybox, Network: tt.mode, Command: sh(script)}
			obs := &topologytest.Observer{}
			wantResult(t, e.Run(t.Context(), topology.Work{Identity: own, Spec: spec, Metadata: tt.metadata}, obs), "succeeded 0")
			if got := obs.Text(topology.Stdout, ""); got != tt.want {
				t.Errorf("%q, want %q; %s", got, tt.want, obs.Text(topology.Stderr, ""))
			}
		})
	}
}

// TestRestrictedNetworkAsksNobody looks at the name servers that the engine is told of:
// one that answers for any name would be a way out.
func TestRestrictedNetworkAsksNobody(t *testing.T) {
	t.Parallel()
	id := identity(t)
	e := newExecutor(t, id.Hub, docker.Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	obs, ready := awaitLog("ready")
	done := make(chan topology.Result, 1)
	go func() {
		done <- e.Run(ctx, topology.Work{Identity: id, Spec: &topology.Spec{
			Image: busybox, Network: topology.NetworkRestricted, Grace: topology.Duration(time.Millisecond),
			Command: sh("nslookup outside.example >/dev/null 2>&1 && echo resolved; echo ready; exec sleep 1000"),
		}}, obs)
	}()
	select {
	case <-ready:
	case r := <-done:
		t.Fatalf("%+v", r.Failure)
	}
	c := rawClient(t)
	list, err := c.ContainerList(t.Context(), container.ListOptions{Filters: filters.NewArgs(filters.Arg("label", topology.LabelJob+"="+id.Job))})
	if err != nil || len(list) != 1 {
		t.Fatalf("%d containers, %v", len(list), err)
	}
	state, err := c.ContainerInspect(t.Context(), list[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if got := state.HostConfig.DNS; !slices.Equal(got, []string{"127.0.0.1"}) {
		t.Errorf("name servers %v", got)
	}
	cancel(topology.ErrCanceled)
	<-done
	if got := obs.Text(topology.Stdout, ""); got != "ready\n" {
		t.Errorf("%q", got)
	}
}
