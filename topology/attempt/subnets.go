package attempt

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"

	"github.com/runnerhub/runnerhub/topology"
)

// DefaultSubnets is where the addresses of the networks come from. Docker's own
// pools hold about thirty networks in all, and jobs would use up those of everybody
// else on the machine.
var DefaultSubnets = []netip.Prefix{netip.MustParsePrefix("10.231.0.0/16"), netip.MustParsePrefix("192.168.224.0/19")}

const (
	// subnetBits leaves room for 125 containers on a network, and for 512 networks in a /16.
	subnetBits = 25
	// subnetTries is how many subnets that someone else has are tried for one network.
	subnetTries = 128
)

// subnets gives networks their addresses: what was given back first, then what was
// never taken, beginning at a place of this process's own. Other runners may draw on
// the same range; the engine is the arbiter, since no two networks can have the same
// addresses.
type subnets struct {
	engine topology.Engine
	routes func(context.Context) []netip.Prefix

	mu    sync.Mutex
	all   []netip.Prefix
	next  int // in all, to go on at
	left  int // how many of all were never tried
	freed []netip.Prefix
	taken map[string]netip.Prefix // by network
}

func newSubnets(engine topology.Engine, ranges []netip.Prefix, routes func(context.Context) []netip.Prefix) *subnets {
	s := &subnets{engine: engine, routes: routes, taken: map[string]netip.Prefix{}}
	for _, r := range ranges {
		first := len(s.all)
		s.all = append(s.all, split(r.Masked(), subnetBits)...)
		// Each range on its own: one that the machine uses elsewhere is passed over as a whole.
		if n := len(s.all) - first; n > 1 {
			rotate(s.all[first:], rand.IntN(n))
		}
	}
	s.left = len(s.all)
	return s
}

// split returns the parts of a range of IPv4 addresses with a prefix of bits.
func split(r netip.Prefix, bits int) []netip.Prefix {
	if !r.IsValid() || !r.Addr().Is4() || r.Bits() > bits {
		return nil
	}
	base := r.Addr().As4()
	first := binary.BigEndian.Uint32(base[:])
	out := make([]netip.Prefix, 1<<(bits-r.Bits()))
	for i := range out {
		var addr [4]byte
		binary.BigEndian.PutUint32(addr[:], first+uint32(i)<<(32-bits))
		out[i] = netip.PrefixFrom(netip.AddrFrom4(addr), bits)
	}
	return out
}

func rotate(s []netip.Prefix, by int) {
	copy(s, slices.Concat(s[by:], s[:by]))
}

// create makes a network with addresses of the range. Where there are none left the
// engine may choose by itself.
func (s *subnets) create(ctx context.Context, spec topology.NetworkSpec) error {
	var routes []netip.Prefix
	if len(s.all) > 0 {
		routes = s.routes(ctx)
	}
	for range subnetTries {
		subnet, ok := s.take(routes)
		if !ok {
			break
		}
		spec.Subnet = subnet.String()
		err := s.engine.CreateNetwork(ctx, spec)
		if topology.KindOf(err) == topology.KindBusy {
			continue // another's; it is not tried again
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if err == nil {
			s.taken[spec.Name] = subnet
		} else {
			s.freed = append(s.freed, subnet)
		}
		return err
	}
	spec.Subnet = ""
	return s.engine.CreateNetwork(ctx, spec)
}

// take returns a subnet that this process has not given out and no route leads to.
func (s *subnets) take(routes []netip.Prefix) (netip.Prefix, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.freed); n > 0 {
		last := s.freed[n-1]
		s.freed = s.freed[:n-1]
		return last, true
	}
	for s.left > 0 {
		subnet := s.all[s.next]
		s.next++
		s.left--
		if !slices.ContainsFunc(routes, subnet.Overlaps) {
			return subnet, true
		}
	}
	return netip.Prefix{}, false
}

// removed tells that a network is gone, whoever made it.
func (s *subnets) removed(network string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if subnet, ok := s.taken[network]; ok {
		delete(s.taken, network)
		s.freed = append(s.freed, subnet)
	}
}
