package web

import (
	"crypto/rand"
	"net/http"

	"github.com/runnerhub/runnerhub/hub/api"
)

// RequestIDHeader carries the id under which a request stands in the hub's log.
const RequestIDHeader = "X-Request-Id"

// requestID gives every request an id of the hub's own: one that a caller chose
// could be made to look like somebody else's in the log.
func requestID(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t := &api.Trace{RequestID: rand.Text()[:16]}
		w.Header().Set(RequestIDHeader, t.RequestID)
		next.ServeHTTP(w, r.WithContext(api.WithTrace(r.Context(), t)))
	})
}
