package mcpclient

import (
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
)

// Config says how to reach a hub. URL alone is enough for what needs no token.
type Config struct {
	// URL is the hub's address, with a path where the hub lives below one.
	URL string
	// Token returns the bearer token, "" for none. It is called for every request
	// and must be quick.
	Token func() string
	// Connections is how many are kept open while idle; default 16. A runner wants
	// two for each slot (a held heartbeat and what it reports) and two more.
	Connections int
	// TLS is for hubs with a certificate of a private authority; default the system's.
	TLS *tls.Config
	// Retry says how often calls are repeated; the zero value is the default.
	Retry Retry
	// MaxResponse bounds an answer in bytes; default 16 MiB.
	MaxResponse int64
	// UserAgent defaults to the program's name and version.
	UserAgent string
	// Logger gets one line a request at debug level, without tokens; default none.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.Token == nil {
		c.Token = func() string { return "" }
	}
	if c.Connections <= 0 {
		c.Connections = 16
	}
	if c.MaxResponse <= 0 {
		c.MaxResponse = 16 << 20
	}
	if c.UserAgent == "" {
		c.UserAgent = "runnerhub/" + mcp.Version + " (" + runtime.GOOS + "; " + runtime.GOARCH + ")"
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Retry = c.Retry.withDefaults()
	return c
}

// newPool makes the connections. There is no time-out for a whole request here:
// some calls are held for long, so each call brings its own deadline.
func newPool(c Config) *http.Transport {
	dialer := &net.Dialer{
		Timeout: 10 * time.Second,
		// A laptop that wakes up has connections that are dead without knowing it.
		// Probing finds that out while a call is held and nothing is sent.
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 3},
	}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		TLSClientConfig:       c.TLS,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          2 * c.Connections,
		MaxIdleConnsPerHost:   c.Connections,
		IdleConnTimeout:       90 * time.Second,
		// The answers are small; the time that gzip takes is worth more than the bytes.
		DisableCompression: true,
	}
}
