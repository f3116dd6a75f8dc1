package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/runnerhub/runnerhub/mcp"
)

// quiet is how long an answer may send nothing. The hub holds no call longer than mcp.MaxWait; the rest is for a
// message of some megabytes on a slow line.
const quiet = 2 * time.Minute

// Message is a JSON-RPC message of a program that speaks MCP by itself, to be passed on as it is.
type Message struct {
	Raw    []byte          // the whole message, one JSON object
	Method string          // as in Raw
	Params json.RawMessage // as in Raw
	// Revision is the revision of MCP that was agreed on, "" before that. A message that names one in its _meta goes by
	// that one.
	Revision string
	// Repeatable says that the message may be sent again after it may have had its effect.
	Repeatable bool
	// View narrows the tools that the message sees.
	View View
}

// View narrows the tools of a hub, see the README; the zero View is all of them.
type View struct {
	Toolsets string // names, with commas between them; "": all
	ReadOnly bool   // only what changes nothing
}

// Relay sends m and passes each message of the answer on while they arrive: one for a plain answer, several for a
// stream, none for a notification. Errors of JSON-RPC's are messages too. It repeats m by the client's Retry as long as
// nothing of an answer was passed on. Every error is a *mcp.Error, or the end of ctx.
func (c *Client) Relay(ctx context.Context, m Message, each func(json.RawMessage)) error {
	var begun bool
	var broken *mcp.Error
	_, err := do(ctx, c.retry, safety(m.Repeatable), func(ctx context.Context) (none struct{}, _ *failure) {
		ctx, sent := watchSent(ctx)
		err := c.relayOnce(ctx, m, func(raw json.RawMessage) { begun = true; each(raw) })
		if err == nil {
			return none, nil
		}
		f := c.failed(err, sent)
		if begun && ctx.Err() == nil { // to repeat it would give the beginning twice
			broken = f.err
			return none, nil
		}
		return none, f
	})
	if err == nil && broken != nil {
		return broken
	}
	return err
}

func (c *conn) relayOnce(ctx context.Context, m Message, each func(json.RawMessage)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(quiet, func() { cancel(context.DeadlineExceeded) })
	defer silence.Stop()

	req, err := c.relayed(ctx, m)
	if err != nil {
		return err
	}
	err = c.relayAnswer(req, m.Method, func(raw json.RawMessage) { silence.Reset(quiet); each(raw) })
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return err
}

// relayed is the request that carries m, with the headers that m's revision of MCP wants.
func (c *conn) relayed(ctx context.Context, m Message) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.at("/mcp"), bytes.NewReader(m.Raw))
	if err != nil {
		return nil, badURL(Redact(c.at("/mcp")), "it is no URL")
	}
	for k, v := range c.headers() {
		req.Header.Set(k, v)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if m.View.Toolsets != "" {
		req.Header.Set(mcp.HeaderToolsets, m.View.Toolsets)
	}
	if m.View.ReadOnly {
		req.Header.Set(mcp.HeaderReadOnly, "true")
	}
	if revision := m.revision(); revision != "" {
		req.Header.Set(mcpgo.HeaderProtocolVersion, revision)
		for k, v := range mcpgo.StandardHeaders(revision, mcpgo.MCPMethod(m.Method), m.Params) {
			req.Header.Set(k, v)
		}
	}
	return req, nil
}

func (m Message) revision() string {
	var p struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	var named string
	if json.Unmarshal(m.Params, &p) == nil && json.Unmarshal(p.Meta[mcpgo.MetaKeyProtocolVersion], &named) == nil && named != "" {
		return named
	}
	return m.Revision
}

func (c *conn) relayAnswer(req *http.Request, method string, each func(json.RawMessage)) error {
	res, err := c.http.Do(req)
	var status *StatusError
	if errors.As(err, &status) && isRPC(status.Body) { // the newest revision gives errors of JSON-RPC's a status, too
		each(status.Body)
		return nil
	}
	if err != nil {
		return err
	}
	defer res.Body.Close()
	pass := func(data []byte) error {
		if data = bytes.TrimSpace(data); len(data) == 0 {
			return nil
		}
		if !json.Valid(data) {
			return notUnderstood(method, nil)
		}
		each(data)
		return nil
	}
	if media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); media == "text/event-stream" {
		return events(res.Body, pass)
	}
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	return pass(data)
}

// isRPC tells a message of JSON-RPC's from an error of the hub's front door.
func isRPC(body []byte) bool {
	var m struct {
		JSONRPC string          `json:"jsonrpc"`
		Error   json.RawMessage `json:"error"`
	}
	return json.Unmarshal(body, &m) == nil && m.JSONRPC == mcpgo.JSONRPC_VERSION && len(m.Error) > 0
}
