package web

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"

	"github.com/runnerhub/runnerhub/mcp"
)

// dropCancelled answers notifications/cancelled and does not pass it on.
//
// Without sessions mcp-go finds the call to cancel by the number that its client
// gave it, and clients count from one: one caller's cancel would end another
// tenant's call. Dropping it costs nothing, since a client that gives up also closes its request.
func dropCancelled(maxBody int64, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, e := readBody(w, r, maxBody)
		if e != nil {
			refuse(w, r, e)
			return
		}
		if trimmed := bytes.TrimLeft(body, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '[' {
			refuseBatch(w, r, trimmed)
			return
		}
		if isCancelled(body) {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		next.ServeHTTP(w, r)
	})
}

// isCancelled reads the method as mcp-go does, with encoding/json and its
// tolerance for the case of a name, so that both see the same word.
func isCancelled(message []byte) bool {
	if !bytes.Contains(message, []byte("cancelled")) && bytes.IndexByte(message, '\\') < 0 {
		return false // not even spelled with escapes: most messages need not be read twice
	}
	var m struct {
		Method string `json:"method"`
	}
	return json.Unmarshal(message, &m) == nil && m.Method == "notifications/cancelled"
}

// refuseBatch refuses batches, which were in one revision of MCP only and which
// mcp-go has not; one that holds nothing but cancellations is dropped like them.
func refuseBatch(w http.ResponseWriter, r *http.Request, body []byte) {
	var batch []json.RawMessage
	if json.Unmarshal(body, &batch) == nil && len(batch) > 0 {
		all := true
		for _, m := range batch {
			all = all && isCancelled(m)
		}
		if all {
			w.WriteHeader(http.StatusAccepted)
			return
		}
	}
	refuse(w, r, fault(mcp.CodeInvalidArgument, "batches of messages are not possible here", "send each message in a request of its own"))
}
