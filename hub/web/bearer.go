package web

import (
	"log/slog"
	"net/http"
	"strings"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/mcp"
)

// authenticate finds out who calls by the bearer token, or refuses the request.
func authenticate(auth api.Authenticator, failures *failures, log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		token, e := bearer(r)
		if e != nil {
			refuse(w, r, e)
			return
		}
		network := networkFrom(ctx)
		if wait := failures.wait(network, token); wait > 0 {
			e := fault(mcp.CodeRateLimited, "too many failed sign-ins from this address", "wait, and check the token that is sent")
			e.RetryAfterMS = wait.Milliseconds() + 1
			refuse(w, r, e)
			return
		}
		p, err := auth.Authenticate(ctx, token, addressFrom(ctx))
		if err != nil {
			if hub.CodeOf(err) == hub.Unauthenticated {
				failures.failed(network)
			}
			refuse(w, r, api.Report(ctx, log, err))
			return
		}
		failures.succeeded(token)
		api.TraceFrom(ctx).SetActor(p.Actor())
		next.ServeHTTP(w, r.WithContext(api.WithPrincipal(ctx, p)))
	})
}

// anonymous lets a request through as nobody, known by its address alone.
func anonymous(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := hub.Principal{Address: addressFrom(r.Context())}
		next.ServeHTTP(w, r.WithContext(api.WithPrincipal(r.Context(), p)))
	})
}

func bearer(r *http.Request) (token string, e *mcp.Error) {
	values := r.Header.Values("Authorization")
	if len(values) == 0 {
		return "", fault(mcp.CodeUnauthenticated, "there is no token", "send `Authorization: Bearer ak_…`; an operator makes keys with `runnerhub admin create-key`")
	}
	scheme, token, ok := strings.Cut(strings.TrimSpace(values[0]), " ")
	if len(values) > 1 || !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", fault(mcp.CodeUnauthenticated, "the Authorization header holds no bearer token", "send one header `Authorization: Bearer ak_…`")
	}
	return strings.TrimSpace(token), nil
}
