package web

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/runnerhub/runnerhub/mcp"
)

// methods serves one path by method; any other method is told which there are.
type methods map[string]http.Handler

func (m methods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h, ok := m[r.Method]; ok {
		h.ServeHTTP(w, r)
		return
	}
	allow := strings.Join(slices.Sorted(maps.Keys(m)), ", ")
	w.Header().Set("Allow", allow)
	refuseStatus(w, r, http.StatusMethodNotAllowed,
		fault(mcp.CodeInvalidArgument, cut(r.Method, 16)+" is not possible here", "use "+allow))
}
