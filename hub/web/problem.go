package web

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/mcp"
)

// refuse answers with an error of the wire contract, at the status of its code.
func refuse(w http.ResponseWriter, r *http.Request, e *mcp.Error) {
	refuseStatus(w, r, e.Code.Info().HTTP, e)
}

// refuseStatus is refuse for the few statuses that HTTP wants and no code has.
func refuseStatus(w http.ResponseWriter, r *http.Request, status int, e *mcp.Error) {
	api.TraceFrom(r.Context()).SetFault(e.Code)
	h := w.Header()
	if status == http.StatusUnauthorized {
		// No resource_metadata: there is no authorization server yet, and to name
		// one makes some MCP clients ignore the token they were given.
		h.Set("WWW-Authenticate", "Bearer")
	}
	if e.RetryAfterMS > 0 {
		seconds := (e.RetryAfter() + time.Second - 1) / time.Second
		h.Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
	}
	writeJSON(w, status, e)
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // the client may be gone; there is nobody to tell
}

func fault(c mcp.Code, message, hint string) *mcp.Error {
	return &mcp.Error{Code: c, Message: message, Hint: hint, Retryable: c.Info().Retryable}
}
