package attempt

import (
	"context"
	"fmt"
	"net/netip"
	"testing"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// TestSubnets has two runners draw on one range, beside a network of somebody else's
// and a route.
func TestSubnets(t *testing.T) {
	t.Parallel()
	ctx, fake := t.Context(), topologytest.NewFake()
	ranges := []netip.Prefix{netip.MustParsePrefix("10.9.0.0/22")} // eight subnets
	if err := fake.CreateNetwork(ctx, topology.NetworkSpec{Name: "somebody's", Subnet: "10.9.1.0/24"}); err != nil {
		t.Fatal(err)
	}
	routes := func(context.Context) []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix("10.9.3.128/26")} }
	one, two := newSubnets(fake, ranges, routes), newSubnets(fake, ranges, routes)
	own := map[string]bool{}
	for i := range 5 {
		for r, s := range []*subnets{one, two} {
			name := fmt.Sprintf("n-%d-%d", i, r)
			if err := s.create(ctx, topology.NetworkSpec{Name: name}); err != nil {
				t.Fatal(err)
			}
			subnet := fake.Subnet(name)
			if subnet == "" {
				continue // the engine's choice
			}
			if own[subnet] || subnet == "10.9.3.128/25" {
				t.Errorf("%s has %s", name, subnet)
			}
			own[subnet] = true
		}
	}
	if len(own) != 5 {
		t.Errorf("%d subnets were given out, want the five that are free: %v", len(own), own)
	}
	// What is given back is used again, though all was tried.
	for i := range 3 {
		name := fmt.Sprintf("again-%d", i)
		for old := range one.taken {
			if err := fake.RemoveNetwork(ctx, old); err != nil {
				t.Fatal(err)
			}
			one.removed(old)
			break
		}
		if err := one.create(ctx, topology.NetworkSpec{Name: name}); err != nil || !own[fake.Subnet(name)] {
			t.Errorf("%v, %q", err, fake.Subnet(name))
		}
	}
}

func TestSubnetsLeftToTheEngine(t *testing.T) {
	t.Parallel()
	fake := topologytest.NewFake()
	s := newSubnets(fake, nil, nil)
	if err := s.create(t.Context(), topology.NetworkSpec{Name: "n"}); err != nil || fake.Subnet("n") != "" {
		t.Errorf("%v, %q", err, fake.Subnet("n"))
	}
}
