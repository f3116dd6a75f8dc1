package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/runnerhub/runnerhub/mcp"
)

// checkOrigin refuses what a browser sends on behalf of another site. Programs
// send no Origin; the hub's own pages send its host, which checkHost has seen.
func checkOrigin(allowed []string, next http.Handler) http.Handler {
	allowed = slices.Clone(allowed)
	for i, o := range allowed {
		allowed[i] = strings.ToLower(strings.TrimSuffix(o, "/"))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, origin := range r.Header.Values("Origin") {
			if !sameOrigin(origin, r.Host) && !slices.Contains(allowed, strings.ToLower(origin)) {
				refuse(w, r, fault(mcp.CodePermissionDenied, "requests from the site "+cut(origin, 100)+" are not allowed",
					"call from a program, or start the hub with `--allow-origin ORIGIN`"))
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// sameOrigin compares hosts and ports. The scheme is left out: behind a proxy
// that ends TLS the hub does not know its own.
func sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && strings.EqualFold(u.Host, host)
}
