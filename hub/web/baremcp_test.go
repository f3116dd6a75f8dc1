package web_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/mcp/mcpserver"
)

// bareMCP serves the tools without the front door, to somebody who is signed in.
func bareMCP(t *testing.T, d *door) *door {
	t.Helper()
	log, services := slog.New(slog.DiscardHandler), api.Services{Jobs: d.jobs}
	ops := api.Operations(services)
	inner := mcpserver.New(ops, api.NewLibrary(services, ops, log), log)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := hub.Principal{Kind: hub.KindUser, User: hub.User{ID: "usr_ada"}}
		inner.ServeHTTP(w, r.WithContext(api.WithPrincipal(r.Context(), p)))
	}))
	t.Cleanup(s.Close)
	return &door{url: s.URL, jobs: d.jobs, log: d.log}
}
