package web

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/runnerhub/runnerhub/hub/api"
)

// withBaseURL tells operations where links in their answers start: at PublicURL
// or else where the caller itself has reached the hub, since it can reach that again.
func withBaseURL(o Options, next http.Handler) http.Handler {
	public := strings.TrimSuffix(o.PublicURL, "/")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		base := public
		if base == "" {
			base = scheme(o, r) + "://" + r.Host
		}
		next.ServeHTTP(w, r.WithContext(api.WithBaseURL(r.Context(), base)))
	})
}

func scheme(o Options, r *http.Request) string {
	forwarded := isTrusted(o.TrustedProxies, remoteOf(r.RemoteAddr)) && r.Header.Get("X-Forwarded-Proto") == "https"
	if o.TLS || forwarded {
		return "https"
	}
	return "http"
}

// hosts are the names that the hub answers to.
func (o Options) hosts() []string {
	names := o.AllowedHosts
	if u, err := url.Parse(o.PublicURL); err == nil && u.Host != "" {
		names = append([]string{u.Host}, names...)
	}
	return names
}
