package mcpclient

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"

	"github.com/runnerhub/runnerhub/mcp"
)

// protocolVersion is the revision of MCP that the client speaks.
const protocolVersion = "2025-11-25"

// Client talks to one hub. It is safe for concurrent use; Close frees its connections.
type Client struct {
	*conn
	retry Retry
}

// conn is what clients with different retries share.
type conn struct {
	base      *url.URL
	token     func() string
	userAgent string

	pool *http.Transport
	http *http.Client

	session   *client.Client
	transport *transport.StreamableHTTP
	shake     chan struct{} // holds one value: the right to do the handshake
	ready     atomic.Bool   // the handshake is done
	requestID atomic.Int64
}

// New returns a client of the hub at cfg.URL. It opens no connection; the first
// call does. An address that cannot be one is a *mcp.Error.
func New(cfg Config) (*Client, error) {
	base, err := parseBase(cfg.URL)
	if err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	c := &conn{
		base: base, token: cfg.Token, userAgent: cfg.UserAgent,
		pool:  newPool(cfg),
		shake: make(chan struct{}, 1),
	}
	c.http = &http.Client{
		Transport: &gate{next: c.pool, base: base, log: cfg.Logger, maxBody: cfg.MaxResponse},
		// A redirect is never followed: a POST would lose its body or its meaning,
		// and the token is meant for one host. The gate turns it into an error.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	c.transport, err = transport.NewStreamableHTTP(c.at("/mcp"),
		transport.WithHTTPBasicClient(c.http),
		transport.WithHTTPHeaderFunc(func(context.Context) map[string]string { return c.headers() }),
		transport.WithHTTPLogger(slog.New(slog.DiscardHandler)), // the gate logs, without secrets
	)
	if err != nil {
		return nil, badURL(cfg.URL, err.Error())
	}
	c.session = client.NewClient(c.transport, client.WithProtocolVersion(protocolVersion))
	return &Client{conn: c, retry: cfg.Retry}, nil
}

// WithRetry returns a client over the same connections that repeats calls by r.
// Closing either closes both.
func (c *Client) WithRetry(r Retry) *Client {
	return &Client{conn: c.conn, retry: r.withDefaults()}
}

// URL is the hub's address as the client uses it.
func (c *conn) URL() string { return c.base.String() }

// Close ends the calls under way and frees the connections.
func (c *conn) Close() error {
	err := c.session.Close()
	c.pool.CloseIdleConnections()
	return err
}

// headers go with every request to the hub. The token is asked for each time, so that a new one is used at once.
func (c *conn) headers() map[string]string {
	h := map[string]string{"User-Agent": c.userAgent}
	if t := c.token(); t != "" {
		h["Authorization"] = "Bearer " + t
	}
	return h
}

func (c *conn) at(path string) string {
	return strings.TrimSuffix(c.base.String(), "/") + path
}

func parseBase(raw string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(raw))
	switch {
	case err != nil:
		return nil, badURL(raw, "it is no URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, badURL(raw, "it must start with https:// or http://")
	case u.Host == "":
		return nil, badURL(raw, "it names no host")
	case u.User != nil:
		// Not shown: it may hold a password.
		return nil, badURL("(with a user name)", "credentials do not belong into it")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, badURL(raw, "it must have no query and no fragment")
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	return u, nil
}

func badURL(raw, why string) *mcp.Error {
	return &mcp.Error{
		Code: mcp.CodeInvalidArgument, Message: "the hub's address " + raw + " cannot be used: " + why,
		Hint: "give the address that the hub prints at its start, http://127.0.0.1:7117 for example",
	}
}
