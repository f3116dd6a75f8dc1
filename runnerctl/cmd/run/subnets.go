package run

import (
	"net/netip"
	"strings"

	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
)

// parseSubnets reads --subnets: nil is the default, empty the engine's own choice.
func parseSubnets(text string) ([]netip.Prefix, error) {
	switch text {
	case "":
		return nil, nil
	case "engine":
		return []netip.Prefix{}, nil
	}
	var out []netip.Prefix
	for part := range strings.SplitSeq(text, ",") {
		p, err := netip.ParsePrefix(strings.TrimSpace(part))
		switch {
		case err != nil || !p.Addr().Is4():
			return nil, cmdutil.Usagef("--subnets %q is no range of IPv4 addresses like 10.231.0.0/16", part)
		case p.Bits() < 8 || p.Bits() > 25:
			return nil, cmdutil.Usagef("--subnets %s: a range has a prefix of 8 to 25 bits; each network takes a /25 of it", p)
		}
		out = append(out, p.Masked())
	}
	return out, nil
}
