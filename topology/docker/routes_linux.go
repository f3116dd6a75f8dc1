package docker

import (
	"bufio"
	"encoding/hex"
	"math/bits"
	"net/netip"
	"os"
	"strings"
)

// routes returns where the machine's routes lead, for an engine on this machine: a
// network of the same addresses would cut off a VPN or a neighbour. Default routes,
// also those that come in two halves, do not count, nor do networks of engines, which
// keep out of each other's way themselves.
func routes(e Endpoint) []netip.Prefix {
	if !strings.HasPrefix(e.Host, "unix://") {
		return nil
	}
	f, err := os.Open("/proc/net/route")
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	var out []netip.Prefix
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if p, ok := parseRoute(lines.Text()); ok {
			out = append(out, p)
		}
	}
	return out
}

// parseRoute reads a line of /proc/net/route: addresses are hexadecimal, the lowest
// byte first.
func parseRoute(line string) (netip.Prefix, bool) {
	fields := strings.Fields(line)
	if len(fields) < 8 || strings.HasPrefix(fields[0], "br-") || strings.HasPrefix(fields[0], "docker") {
		return netip.Prefix{}, false
	}
	to, err := hex.DecodeString(fields[1])
	mask, maskErr := hex.DecodeString(fields[7])
	if err != nil || maskErr != nil || len(to) != 4 || len(mask) != 4 {
		return netip.Prefix{}, false
	}
	ones := 0
	for _, b := range mask {
		ones += bits.OnesCount8(b)
	}
	const halves = 1
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{to[3], to[2], to[1], to[0]}), ones), ones > halves
}
