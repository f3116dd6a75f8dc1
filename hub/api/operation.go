// Package api is the one table of what the hub can be asked: each operation's
// name, words, rights, typed arguments and result, HTTP route, and the use case
// that it calls. mcp/mcpserver serves the table as tools and hub/web as HTTP
// twins and as an OpenAPI document, so the two cannot diverge.
//
// The package also maps the domain to the wire contract (view.go) and every
// error to what a caller may see (fault.go).
package api

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/mcp"
)

// Audience says whose token may call an operation.
type Audience string

// The audiences.
const (
	Runner Audience = "runner" // a paired machine's rnr_ token
	People Audience = "people" // a person's or an agent's ak_ key
	Open   Audience = "open"   // no token; what is asked proves itself
)

// Admits says whether a principal belongs to the audience.
func (a Audience) Admits(p hub.Principal) bool {
	switch a {
	case Runner:
		return p.Kind == hub.KindRunner
	case People:
		return p.Kind == hub.KindUser
	default:
		return a == Open
	}
}

// Hints tell a client what a call can do, in MCP's terms.
type Hints struct {
	ReadOnly    bool // changes nothing
	Destructive bool // may end or undo something
	Idempotent  bool // the same call again changes nothing more
	OpenWorld   bool // reaches beyond this hub: runs code on somebody's machine
}

// Route is the operation's HTTP twin.
type Route struct {
	Method string
	Path   string // below Base, with {field} for arguments that the path names
	// MaxBody is the most bytes that a request may have; DefaultBody when zero.
	MaxBody int64
}

// Base is the path that all HTTP twins live below.
const Base = "/api/v1"

// Limits on the body of a request.
const (
	DefaultBody = 64 << 10
	// SpecBody holds a job spec at its limit of 1 MiB, however JSON escapes it.
	SpecBody = 4 << 20
)

// Operation is one thing that the hub can be asked.
type Operation struct {
	Name        string // the tool's name; snake_case
	Title       string
	Description string // for a model: what, when, limits, which call next
	Audience    Audience
	Toolset     Toolset // empty: in all of them
	Hints       Hints
	Route       Route
	HTTPOnly    bool // not served as a tool

	Input  *jsonschema.Schema // of the arguments, an object
	Output *jsonschema.Schema // of the result, an object
	// Described are arguments that the description of another tool's tells of, and need not be told of twice to a model.
	Described []string

	in, out Type
	limits  limits
	links   func(value any) []mcp.Resource
	call    func(ctx context.Context, p hub.Principal, args json.RawMessage) (value any, summary string, err error)
}

// Call runs the operation for p. args is the arguments' JSON object, checked
// here against Input. The error is fit to be shown; whatever caused it is in log.
func (o *Operation) Call(ctx context.Context, log *slog.Logger, p hub.Principal, args json.RawMessage) (value any, summary string, fault *mcp.Error) {
	TraceFrom(ctx).operation(o.Name)
	defer func() {
		if r := recover(); r != nil {
			value, summary, fault = nil, "", Recovered(ctx, log, r)
		}
		if fault != nil {
			TraceFrom(ctx).fault(fault.Code)
		}
	}()
	if !o.Audience.Admits(p) {
		return nil, "", Report(ctx, log, o.refusal(p))
	}
	if err := permit(p, o); err != nil {
		return nil, "", Report(ctx, log, err)
	}
	value, summary, err := o.call(ctx, p, args)
	if errors.Is(err, dispatch.ErrParked) {
		return nil, "", nil // an answer that nobody gets: whoever parked the call makes it again
	}
	if err != nil {
		return nil, "", Report(ctx, log, err)
	}
	return value, summary, nil
}

// Links are the resources that a result of Call leads to, the most telling first.
func (o *Operation) Links(value any) []mcp.Resource {
	if o.links == nil {
		return nil
	}
	return o.links(value)
}

func (o *Operation) refusal(p hub.Principal) error {
	switch {
	case p.Kind == "":
		return hub.Errorf(hub.Unauthenticated, "%s needs a token", o.Name).
			WithHint("send `Authorization: Bearer TOKEN`")
	case o.Audience == Runner:
		return hub.Errorf(hub.PermissionDenied, "%s is for runners", o.Name).
			WithHint("only the token of a paired machine (rnr_…) may call it")
	default:
		return hub.Errorf(hub.PermissionDenied, "%s is for people and agents", o.Name).
			WithHint("call it with an API key (ak_…); a runner's token runs jobs and nothing else")
	}
}
