package mcpclient

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/runnerhub/runnerhub/mcp"
)

// StartPairing opens a pairing request. It needs no token.
func (c *Client) StartPairing(ctx context.Context, args mcp.StartPairingArgs) (mcp.StartPairingResult, error) {
	return rest[mcp.StartPairingResult](ctx, c, c.post("pairing", "/api/v1/pairing", args, 0, true), once)
}

// RedeemPairing asks for a pairing's outcome; the hub holds the call for
// args.WaitMS while nobody has decided. It needs no token. The hub gives the
// runner's token again to a machine that asks with the same signature, so a lost answer loses nothing.
func (c *Client) RedeemPairing(ctx context.Context, args mcp.RedeemPairingArgs) (mcp.RedeemPairingResult, error) {
	return rest[mcp.RedeemPairingResult](ctx, c, c.post("pairing", "/api/v1/pairing/redeem", args, args.WaitMS, true), idempotent)
}

// ViewPairing shows the request that has a user code.
func (c *Client) ViewPairing(ctx context.Context, code string) (mcp.PairingView, error) {
	return rest[mcp.PairingView](ctx, c, request{
		name: "pairing", method: http.MethodGet, url: c.at("/api/v1/pairing/" + url.PathEscape(code)), within: margin,
	}, idempotent)
}

// DecidePairing approves or denies a request. Repeating a decision is harmless.
func (c *Client) DecidePairing(ctx context.Context, args mcp.DecidePairingArgs) (mcp.PairingView, error) {
	return rest[mcp.PairingView](ctx, c, c.post("pairing", "/api/v1/pairing/decide", args, 0, false), idempotent)
}

// Unpair ends the pairing of the runner whose token the client uses. The token is
// dead from here on, so a repeat is told unauthenticated.
func (c *Client) Unpair(ctx context.Context) (mcp.RevokeRunnerResult, error) {
	return rest[mcp.RevokeRunnerResult](ctx, c, request{
		name: "unpairing", method: http.MethodDelete, url: c.at("/api/v1/runners/self"), within: margin,
	}, once)
}

func (c *conn) post(name, path string, args any, waitMS int64, bare bool) request {
	body, err := json.Marshal(args)
	if err != nil { // the arguments are plain structs of strings and numbers
		body = []byte("null")
	}
	return request{name: name, method: http.MethodPost, url: c.at(path), body: body, bare: bare, within: ms(waitMS) + margin}
}
