package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/mcp"
)

// exchange is one request on its way through mcp-go, and what is answered beside mcp-go's answer: progress before it, or
// something in its place, since mcp-go has one code for whatever a handler returns as an error, and shows it to the client as it
// is. Nothing of it outlives the request, and it knows no client but the one whose request it is.
//
// One goroutine at a time uses it: the request's, in which mcp-go calls handlers and then writes.
type exchange struct {
	http.ResponseWriter
	message []byte
	accept  string // what the client says it reads
	reply   *reply // nil: mcp-go's answer stands
	stream  *stream
	task    *taskRequest // of the tasks extension
	unknown bool         // mcp-go does not know the method of that
}

// reply is an answer of ours.
type reply struct {
	status int
	answer answerTo // whole but for the id
}

type exchangeKey struct{}

// exchanged gives every request an exchange, and serves those of the tasks extension.
func exchanged(lib *api.Library, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		message, err := io.ReadAll(r.Body) // the front door has read and bounded it
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		e := &exchange{ResponseWriter: w, message: message, accept: r.Header.Get("Accept"), task: taskRequestIn(message)}
		r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, e))
		r.Body = io.NopCloser(bytes.NewReader(message))
		next.ServeHTTP(e, r)
		if e.unknown {
			answer := e.task.answer(r.Context(), lib, r.Header)
			e.reply = &answer
		}
		e.finish()
	})
}

// exchangeOf returns the exchange of a request that a handler serves.
func exchangeOf(ctx context.Context) *exchange {
	return ctx.Value(exchangeKey{}).(*exchange)
}

// rpcError is the error of a JSON-RPC answer.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// answerTo is a JSON-RPC answer.
type answerTo struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// fail answers the request with an error.
func (e *exchange) fail(ctx context.Context, err rpcError) {
	status := http.StatusOK
	if server.IsModernRequest(ctx) {
		status = modernStatus(err.Code)
	}
	e.reply = &reply{status, answerTo{Error: &err}}
}

// modernStatus is the status that goes with a code since 2026-07-28.
func modernStatus(code int) int {
	switch code {
	case mcpgo.METHOD_NOT_FOUND:
		return http.StatusNotFound
	case mcpgo.INTERNAL_ERROR:
		return http.StatusOK
	}
	return http.StatusBadRequest
}

// rpcFault is a fault as a JSON-RPC error; missing is the code for what is not found.
func rpcFault(f *mcp.Error, missing int) rpcError {
	out := rpcError{Code: mcpgo.INTERNAL_ERROR, Message: f.Error(), Data: f}
	switch f.Code {
	case mcp.CodeNotFound:
		out.Code = missing
	case mcp.CodeInvalidArgument, mcp.CodeTooLarge, mcp.CodePermissionDenied, mcp.CodeConflict:
		out.Code = mcpgo.INVALID_PARAMS
	}
	return out
}

// WriteHeader passes mcp-go's status on, unless there is an answer of ours or a stream has begun. Not found is what mcp-go says since
// 2026-07-28, of a method that it does not know and of nothing else.
func (e *exchange) WriteHeader(status int) {
	switch {
	case e.task != nil && status == http.StatusNotFound:
		e.unknown = true
	case e.reply == nil && e.stream == nil:
		e.ResponseWriter.WriteHeader(status)
	}
}

// Write passes mcp-go's answer on, unless there is one of ours; a stream keeps it for its end.
func (e *exchange) Write(b []byte) (int, error) {
	switch {
	case e.reply != nil || e.unknown:
		return len(b), nil
	case e.stream != nil:
		return e.stream.last.Write(b)
	}
	return e.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (e *exchange) Unwrap() http.ResponseWriter { return e.ResponseWriter }

// finish writes what mcp-go has not: the answer of ours, and the end of a stream.
func (e *exchange) finish() {
	if e.reply == nil {
		if e.stream != nil && e.stream.last.Len() > 0 {
			e.stream.send(bytes.TrimSpace(e.stream.last.Bytes()))
		}
		return
	}
	answer := e.reply.answer
	answer.JSONRPC, answer.ID = mcpgo.JSONRPC_VERSION, e.id()
	raw, err := json.Marshal(answer)
	if err != nil { // what we answer with can be encoded
		panic(err)
	}
	if e.stream != nil {
		e.stream.send(raw)
		return
	}
	e.Header().Set("Content-Type", "application/json")
	e.ResponseWriter.WriteHeader(e.reply.status)
	_, _ = e.ResponseWriter.Write(raw) // who is gone is not told
}

// id is the request's own, as it was sent.
func (e *exchange) id() json.RawMessage {
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(e.message, &m) != nil || m.ID == nil {
		return json.RawMessage("null")
	}
	return m.ID
}
