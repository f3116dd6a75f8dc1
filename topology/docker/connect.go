package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/docker/cli/cli/connhelper"
	"github.com/docker/docker/api/types/versions"
	"github.com/docker/docker/client"
	"github.com/docker/go-connections/tlsconfig"

	"github.com/runnerhub/runnerhub/topology"
)

// minAPI is the API version of Docker 20.10.
const minAPI = "1.41"

// probeTimeout is how long one endpoint may take to answer the first ping. ssh
// needs most of it.
const probeTimeout = 10 * time.Second

// connect returns a client for the first endpoint that answers.
func connect(ctx context.Context, endpoints []Endpoint) (*client.Client, Endpoint, error) {
	var tried []string
	for _, e := range endpoints {
		c, err := dial(ctx, e)
		if err == nil {
			return c, e, nil
		}
		var old *tooOldError
		if e.Chosen || errors.As(err, &old) || ctx.Err() != nil {
			return nil, e, &topology.EngineError{
				Kind: topology.KindUnavailable, Op: "reach the Docker engine at " + e.String(), Err: err,
				Hint: "Start the engine there, or choose another by DOCKER_HOST or `docker context use`.",
			}
		}
		tried = append(tried, fmt.Sprintf("%s: %v", e, err))
	}
	return nil, Endpoint{}, &topology.EngineError{
		Kind: topology.KindUnavailable, Op: "find a Docker engine",
		Err:  errors.New("none answers at " + strings.Join(tried, "; ")),
		Hint: "Install and start Docker, or set DOCKER_HOST to the engine's address.",
	}
}

type tooOldError struct{ api string }

func (e *tooOldError) Error() string {
	return fmt.Sprintf("the engine speaks API %s, but %s (Docker 20.10) is the oldest supported; upgrade the engine", e.api, minAPI)
}

// dial makes a client for e, pings it and agrees on an API version with it.
func dial(ctx context.Context, e Endpoint) (*client.Client, error) {
	c, err := newClient(e)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	ping, err := c.Ping(ctx)
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	if ping.APIVersion == "" || versions.LessThan(ping.APIVersion, minAPI) {
		_ = c.Close()
		return nil, &tooOldError{api: ping.APIVersion}
	}
	c.NegotiateAPIVersionPing(ping)
	return c, nil
}

// newClient makes a client for e without calling it.
func newClient(e Endpoint) (*client.Client, error) {
	u, err := client.ParseHostURL(e.Host)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{MaxIdleConns: 16, MaxIdleConnsPerHost: 16, IdleConnTimeout: 30 * time.Second}
	opts := []client.Opt{client.WithHTTPClient(&http.Client{Transport: transport, CheckRedirect: client.CheckRedirect})}
	if u.Scheme == "ssh" {
		helper, err := connhelper.GetConnectionHelper(e.Host)
		if err != nil {
			return nil, err
		}
		opts = append(opts, client.WithHost(helper.Host), client.WithDialContext(helper.Dialer))
	} else {
		opts = append(opts, client.WithHost(e.Host))
	}
	if e.tls.enabled() && u.Scheme != "ssh" {
		config, err := tlsconfig.Client(tlsconfig.Options{
			CAFile: e.tls.ca, CertFile: e.tls.cert, KeyFile: e.tls.key,
			InsecureSkipVerify: e.tls.skipVerify, ExclusiveRootPools: e.tls.ca != "",
		})
		if err != nil {
			return nil, err
		}
		transport.TLSClientConfig = config
	}
	c, err := client.NewClientWithOpts(opts...)
	if err != nil {
		return nil, err
	}
	// WithHost has set the dialer by now. Streams take their connections from it too,
	// and these must not outlive their context; see streamContext.
	dialer := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dialer(ctx, network, addr)
		if err == nil && ctx.Value(streamKey{}) != nil {
			context.AfterFunc(ctx, func() { _ = conn.Close() })
		}
		return conn, err
	}
	return c, nil
}

type streamKey struct{}

// streamContext marks ctx as that of one stream: its connection is closed with it.
// The client by itself heeds a context only while it dials, and an engine that
// takes the connection and then says nothing would hold the caller for ever.
func streamContext(ctx context.Context) context.Context {
	return context.WithValue(ctx, streamKey{}, true)
}
