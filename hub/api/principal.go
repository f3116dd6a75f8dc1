package api

import (
	"context"

	"github.com/runnerhub/runnerhub/hub"
)

// Authenticator turns a token into whoever holds it. Failures are hub.Errors
// with code Unauthenticated; others mean that nobody could tell.
type Authenticator interface {
	Authenticate(ctx context.Context, token, address string) (hub.Principal, error)
}

type principalKey struct{}

// WithPrincipal puts who calls into the context of a request.
func WithPrincipal(ctx context.Context, p hub.Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// PrincipalFrom returns who calls; the zero principal is nobody.
func PrincipalFrom(ctx context.Context) hub.Principal {
	p, _ := ctx.Value(principalKey{}).(hub.Principal)
	return p
}
