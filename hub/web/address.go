package web

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

type addressKey struct{}

// clientAddress finds where a request came from. X-Forwarded-For is believed
// only as far as trusted proxies wrote it: its last entry that is not one of them.
func clientAddress(trusted []netip.Prefix, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		addr := remoteOf(r.RemoteAddr)
		if isTrusted(trusted, addr) {
			hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
			for i := len(hops) - 1; i >= 0 && isTrusted(trusted, addr); i-- {
				hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
				if err != nil {
					break
				}
				addr = hop.Unmap()
			}
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), addressKey{}, addr)))
	})
}

func remoteOf(hostport string) netip.Addr {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		return netip.Addr{}
	}
	addr, _ := netip.ParseAddr(host)
	return addr.Unmap().WithZone("")
}

func isTrusted(trusted []netip.Prefix, addr netip.Addr) bool {
	for _, p := range trusted {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// addressFrom is the caller's address, host only, or "".
func addressFrom(ctx context.Context) string {
	addr, ok := ctx.Value(addressKey{}).(netip.Addr)
	if !ok || !addr.IsValid() {
		return ""
	}
	return addr.String()
}

// networkFrom is what failed sign-ins are counted by: an IPv4 address, or the
// /64 that one IPv6 subscriber has all of.
func networkFrom(ctx context.Context) string {
	addr, _ := ctx.Value(addressKey{}).(netip.Addr)
	if addr.Is6() {
		p, err := addr.Prefix(64)
		if err == nil {
			return p.String()
		}
	}
	return addr.String()
}
