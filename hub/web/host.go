package web

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/runnerhub/runnerhub/mcp"
)

// checkHost refuses requests for a host that is not this hub's, which is how a
// page that rebinds its own name to a local address would look. An address is
// never such a name, so any address passes; of names, localhost and those configured.
func checkHost(names []string, next http.Handler) http.Handler {
	known := map[string]bool{"localhost": true}
	for _, n := range names {
		known[canonicalHost(n)] = true
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := canonicalHost(r.Host)
		if _, err := netip.ParseAddr(host); err != nil && !known[host] {
			refuse(w, r, fault(mcp.CodePermissionDenied, "this hub does not serve the host "+cut(host, 100),
				"use its own name, or start it with `--allow-host NAME`"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// canonicalHost is a host without port, brackets, case and trailing dot.
func canonicalHost(hostport string) string {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
