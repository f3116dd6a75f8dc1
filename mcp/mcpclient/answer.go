package mcpclient

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/runnerhub/runnerhub/mcp"
)

// fromStatus translates an HTTP answer that is no success.
func (c *conn) fromStatus(s *StatusError) *mcp.Error {
	e := decodeError(s.Body)
	switch {
	case e != nil: // the hub's own words
	case s.Location != "" && s.Status >= 300 && s.Status < 400:
		e = &mcp.Error{
			Code: mcp.CodeUnavailable, Retryable: true,
			Message: "the address redirects to " + Redact(s.Location) + " instead of answering",
			Hint:    "use that address for the hub if it is the hub's; on a guest network sign in to it first",
		}
	case s.MediaType == "text/html":
		e = &mcp.Error{
			Code: mcp.CodeUnavailable, Retryable: true,
			Message: fmt.Sprintf("a web page (status %d) came from %s where the hub should have answered", s.Status, c.base.Host),
			Hint:    "on a guest network sign in to it first; else check the hub's address, and the proxy in front of it",
		}
	default:
		e = fromCode(s.Status, c.base.Host)
	}
	if e.RetryAfterMS == 0 {
		e.RetryAfterMS = s.RetryAfter.Milliseconds()
	}
	return e
}

// fromCode translates a status that came without the hub's words: most likely a
// proxy's.
func fromCode(status int, host string) *mcp.Error {
	e := &mcp.Error{Code: mcp.CodeUnavailable, Retryable: true, Message: fmt.Sprintf("%s answered with status %d (%s)", host, status, http.StatusText(status))}
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		// The hub says such things in its own words. A runner must not end, and kill
		// its jobs, because of what stands before the hub.
		e.Hint = "something in front of the hub refuses the request; see what the proxy there wants"
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		// A proxy whose hub is being replaced says so too, hence not final.
		e.Hint = "check the hub's address: there is no hub at it, or it lives below a path"
	case http.StatusRequestEntityTooLarge:
		e.Code, e.Hint = mcp.CodeTooLarge, "see the limits of the hub, and of the proxy in front of it"
	case http.StatusUpgradeRequired:
		e.Code, e.Hint = mcp.CodeUpdateRequired, "install the release that the hub asks for"
	case http.StatusTooManyRequests:
		e.Code = mcp.CodeRateLimited
	case http.StatusBadRequest:
		e.Code = mcp.CodeInvalidArgument
	default:
		e.Hint = "try again; see whether the hub runs behind that address"
	}
	e.Retryable = e.Code.Info().Retryable
	return e
}

// decodeError reads an error of the hub's: bare, below "error", or as JSON-RPC
// sends it. It returns nil if body is none of these.
func decodeError(body []byte) *mcp.Error {
	var wrapped struct {
		Error   json.RawMessage `json:"error"`
		Code    json.RawMessage `json:"code"`
		Message string          `json:"message"`
	}
	_ = json.Unmarshal(body, &wrapped) // no JSON leaves it empty
	if len(wrapped.Error) > 0 {
		return decodeError(wrapped.Error)
	}
	var rpc int
	if len(wrapped.Code) > 0 && json.Unmarshal(wrapped.Code, &rpc) == nil {
		return fromRPC(rpc, wrapped.Message)
	}
	e := new(mcp.Error)
	if _ = json.Unmarshal(body, e); e.Code == "" {
		return nil
	}
	return e
}

// fromRPC translates an error of JSON-RPC's: the call never became a tool's.
func fromRPC(code int, message string) *mcp.Error {
	e := &mcp.Error{Code: mcp.CodeInternal, Message: Redact(message)}
	switch code {
	case -32601, -32602, -32600, -32700: // no such method, bad parameters, bad request, no JSON
		e.Code = mcp.CodeInvalidArgument
		if strings.Contains(message, "not found") {
			e.Code = mcp.CodeNotFound
			e.Hint = "this token may not use that tool, or the hub is older than this program"
		}
	}
	return e
}

// toolError reads the error that a tool answered with. Code and the rest travel in
// _meta, next to a text for readers that know only text.
func toolError(r *toolResult) *mcp.Error {
	var e mcp.Error
	if json.Unmarshal(r.Meta, &e) != nil || e.Code == "" {
		var nested struct {
			Error mcp.Error `json:"error"`
		}
		_ = json.Unmarshal(r.Meta, &nested)
		e = nested.Error
	}
	if e.Message == "" {
		for _, c := range r.Content {
			if c.Text != "" {
				e.Message = c.Text
				break
			}
		}
	}
	if e.Code == "" {
		e.Code = mcp.CodeInternal
	}
	return &e
}
