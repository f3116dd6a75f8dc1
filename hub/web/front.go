// Package web is the hub's front door: plain net/http middleware, the HTTP twins
// of the operation table, the bytes of logs and uploads, the OpenAPI document and the pairing page.
package web

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/mcp"
)

// Options are what the front door needs.
type Options struct {
	Operations []api.Operation
	Auth       api.Authenticator
	MCP        http.Handler // mcp/mcpserver; served at /mcp and below it
	Logs       Logs
	Uploads    Uploads
	Files      Files
	Sources    Sources
	Execs      Execs
	Log        *slog.Logger
	Ready      func(context.Context) error // whether the store can be used; nil: always
	Drain      <-chan struct{}             // closed when the hub shuts down; nil: never
	Now        func() time.Time            // nil: time.Now
	// WriteWithin is how long a client may take to read an answer; 0 is a minute.
	WriteWithin time.Duration

	PublicURL      string         // how people reach the hub; empty: as the request did
	AllowedHosts   []string       // names besides localhost, PublicURL's and any address
	AllowedOrigins []string       // besides the hub's own
	TrustedProxies []netip.Prefix // whose X-Forwarded-For and -Proto are believed
	TLS            bool           // served over TLS
}

// MCPPath is where the tools are.
const MCPPath = "/mcp"

// New is the whole front door as one handler.
func New(o Options) http.Handler {
	o = o.withDefaults()
	failures := newFailures(o.Now)
	signedIn := func(h http.Handler) http.Handler { return authenticate(o.Auth, failures, o.Log, h) }

	mux := http.NewServeMux()
	for _, path := range toolPaths() {
		mux.Handle(path, methods{http.MethodPost: signedIn(withToolView(dropCancelled(api.SpecBody, o.MCP)))})
	}
	routes(mux, o, signedIn)
	mux.Handle(api.LogPath("{token}"), methods{http.MethodPut: putLog(o.Logs, o.Log)})
	mux.Handle(api.Base+"/sources/{job_id}/{attempt}/{token}", methods{http.MethodGet: getSource(o.Sources, o.Log)})
	mux.Handle(api.UploadPath("{token}"), methods{http.MethodPut: putUpload(o.Uploads, o.Log)})
	mux.Handle(api.ArtifactContent, readable(signedIn(getFile(o.Files, o.Log))))
	execRoutes(mux, o, signedIn)
	mux.Handle("/healthz", readable(http.HandlerFunc(healthz)))
	mux.Handle("/readyz", readable(readyz(o.Ready, o.Drain, o.Log)))
	mux.Handle(OpenAPIPath, readable(serveOpenAPI(o.Operations)))
	pages(mux)
	mux.HandleFunc("/", notFound)

	var h http.Handler = mux
	h = withBaseURL(o, h)
	h = checkOrigin(o.AllowedOrigins, h)
	h = checkHost(o.hosts(), h)
	h = closeWhenDraining(o.Drain, h)
	h = securityHeaders(o.TLS, h)
	h = recoverPanics(o.Log, h)
	h = accessLog(o.Log, o.Now, h)
	h = writeWithin(o.WriteWithin, h)
	h = clientAddress(o.TrustedProxies, h)
	return requestID(h)
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.WriteWithin == 0 {
		o.WriteWithin = time.Minute
	}
	if o.Ready == nil {
		o.Ready = func(context.Context) error { return nil }
	}
	return o
}

// readable serves a resource that is only read.
func readable(h http.Handler) methods {
	return methods{http.MethodGet: h, http.MethodHead: h}
}

func notFound(w http.ResponseWriter, r *http.Request) {
	refuse(w, r, fault(mcp.CodeNotFound, "there is nothing at this path",
		"tools are at "+MCPPath+", the HTTP API is described at "+OpenAPIPath))
}
