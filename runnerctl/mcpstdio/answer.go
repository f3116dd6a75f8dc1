package mcpstdio

import (
	"context"
	"encoding/json"

	"github.com/runnerhub/runnerhub/mcp"
)

// answer sends a request and gives the client exactly one answer, or none when it has canceled the request.
func (s *server) answer(ctx context.Context, m message) {
	answered := false
	err := s.link.relay(ctx, m.relayed(s.agreed(), s.view), func(raw json.RawMessage) {
		if answered || ctx.Err() != nil {
			return
		}
		out, last := m.passed(raw)
		if last && m.method == "initialize" {
			s.agree(out) // before the client can send what goes by it
		}
		answered = last
		if out != nil {
			s.out.write(out)
		}
	})
	switch {
	case answered || ctx.Err() != nil:
		return
	case err == nil:
		err = &mcp.Error{
			Code: mcp.CodeUnavailable, Retryable: true, Message: "the hub's answer to " + m.method + " ended before it was whole",
			Hint: "call again; see whether the hub was restarted",
		}
	}
	fault := fromError(err)
	s.note("error: %s\n", fault.Message)
	s.out.fail(m.id, fault)
}

// agree remembers the revision of MCP that the hub has settled on with the client.
func (s *server) agree(answer json.RawMessage) {
	var a struct {
		Result struct {
			ProtocolVersion string `json:"protocolVersion"`
		} `json:"result"`
	}
	if json.Unmarshal(answer, &a) == nil && a.Result.ProtocolVersion != "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.revision = a.Result.ProtocolVersion
	}
}

// passed is what the client gets for a message of the hub's, nil for nothing, and whether it is the answer. What is not
// the answer is a notification: progress, for one.
func (m message) passed(raw json.RawMessage) (out json.RawMessage, last bool) {
	var a struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	switch {
	case json.Unmarshal(raw, &a) != nil || a.Method == "" && a.Result == nil && a.Error == nil:
		return nil, false
	case a.Method != "":
		return raw, false
	case a.ID != nil && idKey(a.ID) == idKey(m.id):
		return raw, true
	}
	// It failed before its id was read, or the id came back in another form, as large numbers do. A call has one answer,
	// and the client knows it by its own id alone.
	return encode(response{JSONRPC: "2.0", ID: m.id, Result: a.Result, Error: a.Error}), true
}
