package mcpstdio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
)

// Codes of JSON-RPC 2.0.
const (
	codeParse    = -32700
	codeRequest  = -32600
	codeInternal = -32603
)

// message is one of the client's.
type message struct {
	raw    []byte
	id     json.RawMessage // nil for a notification
	method string          // "" for an answer
	params json.RawMessage
}

// fault is an error of JSON-RPC's.
type fault struct {
	Code    int        `json:"code"`
	Message string     `json:"message"`
	Data    *mcp.Error `json:"data,omitempty"`
}

type response struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

// read takes a line apart. A message that it refuses keeps its id where one can be read.
func read(l line) (message, *fault) {
	if l.tooLong {
		return message{}, &fault{Code: codeRequest, Message: fmt.Sprintf("the message is over %d bytes; send less, or files by a repository or an archive", MaxLine)}
	}
	raw := bytes.TrimSpace(l.text)
	switch {
	case !json.Valid(raw):
		return message{}, &fault{Code: codeParse, Message: "the line is not JSON; send one message a line"}
	case raw[0] == '[':
		return message{}, &fault{Code: codeRequest, Message: "batches of messages are not possible here; send each message in a line of its own"}
	case raw[0] != '{':
		return message{}, &fault{Code: codeRequest, Message: "the message is no JSON object"}
	}
	var e struct {
		ID     json.RawMessage `json:"id"`
		Method json.RawMessage `json:"method"`
		Params json.RawMessage `json:"params"`
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	_ = json.Unmarshal(raw, &e) // cannot fail: it is an object, and its fields are taken as they are
	m := message{raw: raw, id: e.ID, params: e.Params}
	if m.id != nil && m.id[0] != '"' && m.id[0] != '-' && (m.id[0] < '0' || m.id[0] > '9') {
		m.id = nil
		return m, &fault{Code: codeRequest, Message: "the id of a message is a string or a number"}
	}
	answer := e.Result != nil || e.Error != nil
	if _ = json.Unmarshal(e.Method, &m.method); m.method == "" && !answer { // what is no string leaves it empty
		return m, &fault{Code: codeRequest, Message: "the method of a message is a string that names one"}
	}
	return m, nil
}

// relayed is the message for the hub.
func (m message) relayed(revision string, view mcpclient.View) mcpclient.Message {
	return mcpclient.Message{View: view, Raw: m.raw, Method: m.method, Params: m.params, Revision: revision, Repeatable: repeatable(m.method)}
}

// repeatable tells whether a message may be sent twice: it only asks for something. A call of a tool may do something.
func repeatable(method string) bool {
	return slices.Contains([]string{
		"initialize", "notifications/initialized", "ping", "server/discover", "completion/complete", "logging/setLevel",
		"prompts/get", "resources/read",
	}, method) || strings.HasSuffix(method, "/list")
}

// idKey makes equal ids equal, however they are spelled: "a" and "\u0061". A number is never a string.
func idKey(id json.RawMessage) string {
	var s string
	if json.Unmarshal(id, &s) == nil {
		return `"` + s
	}
	return string(bytes.TrimSpace(id))
}

// fromError is an error as clients show it: most show the message alone, so it names what to do.
func fromError(err error) *fault {
	e, ok := errors.AsType[*mcp.Error](err)
	if !ok {
		return &fault{Code: codeInternal, Message: err.Error()}
	}
	f := &fault{Code: codeInternal, Message: e.Message, Data: e}
	if e.Hint != "" {
		f.Message += " (" + e.Hint + ")"
	}
	return f
}

func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // our own types, and JSON that was read before
	}
	return raw
}
