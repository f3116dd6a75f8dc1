package docker

import (
	"bufio"
	"bytes"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/network"
)

// metadataAddress is where clouds tell a machine, and so whatever runs on it, its
// credentials: Amazon's, Google's, Microsoft's, Oracle's, DigitalOcean's, Hetzner's and
// OpenStack's; those of containers and of other roles are in linkLocal too.
const metadataAddress = "169.254.169.254"

// linkLocal is what a container with metadataAddress looks for on its own network.
var linkLocal = netip.MustParsePrefix("169.254.0.0/16")

// rawSockets is the capability with which a process sends packets past its own routes.
const rawSockets = "NET_RAW"

// blockMetadata makes the metadata address one of the container's own: what is sent
// there never leaves it, and neither does what is sent to other link-local addresses,
// which from then on are looked for on the container's network. It costs no call and
// no process, and needs no rights on the machine. There is no IPv6 to care for.
func (e *Engine) blockMetadata(host *container.HostConfig, endpoint *network.EndpointSettings) {
	endpoint.IPAMConfig = &network.EndpointIPAMConfig{LinkLocalIPs: []string{metadataAddress}}
	dropRawSockets(host)
	if host.DNS == nil {
		host.DNS = e.resolvers
	}
}

// dropRawSockets takes away what could send packets past the routes.
func dropRawSockets(host *container.HostConfig) {
	if !slices.Contains(host.CapAdd, rawSockets) { // which only the owner of the machine allows
		host.CapDrop = append(host.CapDrop, rawSockets)
	}
}

// publicResolvers are those that Docker itself falls back on where a machine has none
// that containers could ask.
var publicResolvers = []string{"8.8.8.8", "8.8.4.4"}

// The files that Docker takes a machine's name servers from: the second where the
// first names systemd's own, which answers on the machine only.
const (
	resolvConf        = "/etc/resolv.conf"
	resolvConfSystemd = "/run/systemd/resolve/resolv.conf"
	systemdResolver   = "127.0.0.53"
)

// resolversBeside returns the name servers that containers ask instead of the machine's
// own where these are behind the block, as on Google's clouds, and nil where they are not.
func resolversBeside(e Endpoint, read func(string) ([]byte, error)) []string {
	if runtime.GOOS != "linux" || !strings.HasPrefix(e.Host, "unix://") {
		return nil // another machine's resolvers are not known
	}
	servers := nameServers(read, resolvConf)
	if len(servers) == 1 && servers[0].String() == systemdResolver {
		servers = nameServers(read, resolvConfSystemd)
	}
	var beside []string
	blocked := false
	for _, s := range servers {
		if linkLocal.Contains(s) {
			blocked = true
		} else if !s.IsLoopback() {
			beside = append(beside, s.String())
		}
	}
	switch {
	case !blocked:
		return nil
	case len(beside) == 0:
		return publicResolvers
	}
	return beside
}

// nameServers reads the name servers of a resolv.conf; what cannot be read has none.
func nameServers(read func(string) ([]byte, error), file string) []netip.Addr {
	text, err := read(file)
	if err != nil {
		return nil
	}
	var servers []netip.Addr
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) < 2 || words[0] != "nameserver" {
			continue
		}
		if addr, err := netip.ParseAddr(words[1]); err == nil {
			servers = append(servers, addr.Unmap())
		}
	}
	return servers
}

// machineFile reads a file of this machine's.
func machineFile(name string) ([]byte, error) { return os.ReadFile(name) }
