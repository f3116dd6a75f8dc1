package mcpclient

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/runnerhub/runnerhub/mcp"
)

// margin is what a call may take beyond the time that the hub was asked to hold it.
const margin = 10 * time.Second

// toolResult is the answer to tools/call. It is read here and not by mcp-go so
// that the structured content is decoded once, into its type, and big numbers stay what they are.
type toolResult struct {
	Content []struct {
		Text string `json:"text"`
	} `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent"`
	IsError           bool            `json:"isError"`
	Meta              json.RawMessage `json:"_meta"`
}

// call calls a tool. wait is how long the hub was asked to hold the call.
func call[Out any](ctx context.Context, c *Client, tool string, args any, wait time.Duration, s safety) (Out, error) {
	return do(ctx, c.retry, s, func(ctx context.Context) (Out, *failure) {
		ctx, sent := watchSent(ctx)
		ctx, cancel := context.WithTimeout(ctx, wait+margin)
		defer cancel()
		out, err := callOnce[Out](ctx, c, tool, args)
		if err != nil {
			return out, c.failed(err, sent)
		}
		return out, nil
	})
}

func callOnce[Out any](ctx context.Context, c *Client, tool string, args any) (Out, error) {
	var out Out
	if err := c.handshake(ctx); err != nil {
		return out, err
	}
	res, err := c.transport.SendRequest(ctx, transport.JSONRPCRequest{
		JSONRPC: mcpgo.JSONRPC_VERSION,
		ID:      mcpgo.NewRequestId(c.requestID.Add(1)),
		Method:  string(mcpgo.MethodToolsCall),
		Params:  map[string]any{"name": tool, "arguments": args},
		Header:  http.Header{},
	})
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err() // mcp-go reports a cut connection instead
		}
		return out, err
	}
	if res.Error != nil {
		return out, fromRPC(res.Error.Code, res.Error.Message)
	}
	var r toolResult
	if err := json.Unmarshal(res.Result, &r); err != nil {
		return out, notUnderstood(tool, err)
	}
	if r.IsError {
		return out, toolError(&r)
	}
	if len(r.StructuredContent) == 0 {
		return out, notUnderstood(tool, nil)
	}
	if err := json.Unmarshal(r.StructuredContent, &out); err != nil {
		return out, notUnderstood(tool, err)
	}
	return out, nil
}

// handshake is MCP's, done once by whichever call comes first. Nothing of it is
// kept at the hub, so it needs no repeating when the hub restarts.
func (c *conn) handshake(ctx context.Context) error {
	if c.ready.Load() {
		return nil
	}
	select {
	case c.shake <- struct{}{}:
		defer func() { <-c.shake }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if c.ready.Load() {
		return nil
	}
	if err := c.session.Start(ctx); err != nil {
		return err
	}
	var req mcpgo.InitializeRequest
	req.Params.ProtocolVersion = protocolVersion
	req.Params.ClientInfo = mcpgo.Implementation{Name: "runnerhub", Version: mcp.Version}
	// Nothing but the deadline may end it half-way in a way that looks like the hub's fault.
	if _, err := c.session.Initialize(ctx, req); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return err
	}
	c.ready.Store(true)
	return nil
}

func notUnderstood(tool string, cause error) *mcp.Error {
	msg := "the hub's answer to " + tool + " cannot be understood"
	if cause != nil {
		msg += ": " + cause.Error()
	}
	return &mcp.Error{Code: mcp.CodeInternal, Message: msg, Hint: "see whether hub and program are of the same release"}
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
