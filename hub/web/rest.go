package web

import (
	"log/slog"
	"net/http"

	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/mcp"
)

// routes adds the HTTP twin of every operation.
func routes(mux *http.ServeMux, o Options, signedIn func(http.Handler) http.Handler) {
	byPath := map[string]methods{}
	for i := range o.Operations {
		op := &o.Operations[i]
		path := api.Base + op.Route.Path
		if byPath[path] == nil {
			byPath[path] = methods{}
		}
		h := operation(op, o.Log)
		if op.Audience == api.Open {
			h = anonymous(h)
		} else {
			h = signedIn(h)
		}
		byPath[path][op.Route.Method] = h
	}
	for path, m := range byPath {
		mux.Handle(path, m)
	}
}

// operation serves one operation over HTTP: the result's JSON, or an error at
// the status of its code.
func operation(op *api.Operation, log *slog.Logger) http.Handler {
	most := op.Route.MaxBody
	if most == 0 {
		most = api.DefaultBody
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, e := readBody(w, r, most)
		if e == nil && len(body) > 0 && !isJSON(r) {
			e = fault(mcp.CodeInvalidArgument, "the body is not said to be JSON", "send it with `Content-Type: application/json`")
		}
		if e != nil {
			refuse(w, r, e)
			return
		}
		args, e := bind(op, r, body)
		if e != nil {
			refuse(w, r, e)
			return
		}
		value, _, e := op.Call(r.Context(), log, api.PrincipalFrom(r.Context()), args)
		if e != nil {
			refuse(w, r, e)
			return
		}
		writeJSON(w, http.StatusOK, value)
	})
}
