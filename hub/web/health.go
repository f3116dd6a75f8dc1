package web

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/mcp"
)

// healthz says that the process answers, and nothing of its parts.
func healthz(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok", "version": mcp.Version})
}

// readyz says whether requests should be sent here: not while the hub drains or
// cannot use its store.
func readyz(ready func(context.Context) error, drain <-chan struct{}, log *slog.Logger) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if isClosed(drain) {
			refuse(w, r, fault(mcp.CodeDraining, "the hub is shutting down", "send requests elsewhere"))
			return
		}
		if err := ready(r.Context()); err != nil {
			refuseStatus(w, r, http.StatusServiceUnavailable, api.Report(r.Context(), log, err))
			return
		}
		writeJSON(w, http.StatusOK, map[string]string{"status": "ready"})
	}
}
