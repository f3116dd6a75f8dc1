package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"strings"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/runnerhub/runnerhub/hub/api"
)

// Progress goes to whoever asked for it, on the answer to the very request that it is about. mcp-go would send it by
// session, and without sessions all callers are one. So a request that has something to tell before it is answered has its answer made a
// stream here, and mcp-go's own words become the last event of it; all others are answered as if there were no streams.

// stream is an answer that has begun before it is known.
type stream struct {
	to      http.ResponseWriter
	control *http.ResponseController
	last    bytes.Buffer // mcp-go's answer
}

// withProgress has the call tell its client what happens while it waits, under the client's token. A client that does not
// read streams is not told.
func (e *exchange) withProgress(ctx context.Context, token mcpgo.ProgressToken) context.Context {
	if !readsStreams(e.accept) {
		return ctx
	}
	return api.WithProgress(ctx, func(done int64, message string) {
		raw, err := json.Marshal(map[string]any{
			"jsonrpc": mcpgo.JSONRPC_VERSION, "method": "notifications/progress",
			"params": map[string]any{"progressToken": token, "progress": done, "message": message},
		})
		if err != nil { // a token comes from JSON
			panic(err)
		}
		if e.stream == nil {
			e.begin()
		}
		e.stream.send(raw)
	})
}

func readsStreams(accept string) bool {
	for part := range strings.SplitSeq(accept, ",") {
		if t, _, err := mime.ParseMediaType(part); err == nil && t == "text/event-stream" {
			return true
		}
	}
	return false
}

func (e *exchange) begin() {
	e.stream = &stream{to: e.ResponseWriter, control: http.NewResponseController(e.ResponseWriter)}
	e.Header().Set("Content-Type", "text/event-stream")
	e.ResponseWriter.WriteHeader(http.StatusOK)
}

// send writes one message. JSON has no line breaks, which would end the event's data.
func (s *stream) send(message []byte) {
	var event bytes.Buffer
	event.WriteString("event: message\ndata: ")
	event.Write(message)
	event.WriteString("\n\n")
	_, _ = s.to.Write(event.Bytes()) // who is gone is not told: the call's context has ended, or ends with the next byte
	_ = s.control.Flush()
}
