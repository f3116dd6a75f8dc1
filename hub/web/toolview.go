package web

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/mcp"
)

// toolPaths are the paths of the tools: all of them, some toolsets, and of either what changes nothing.
func toolPaths() []string {
	return []string{MCPPath, MCPPath + "/readonly", MCPPath + "/x/{toolsets}", MCPPath + "/x/{toolsets}/readonly"}
}

// withToolView reads what the path and the headers of a request narrow its tools to. Each can take away and none can
// give back, so that read-only holds wherever it is said.
func withToolView(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		view, err := toolView(r)
		if err != nil {
			refuse(w, r, api.Fault(err))
			return
		}
		next.ServeHTTP(w, r.WithContext(api.WithView(r.Context(), view)))
	})
}

func toolView(r *http.Request) (api.View, error) {
	view := api.View{ReadOnly: strings.HasSuffix(r.URL.Path, "/readonly")}
	asked := r.Header.Values(mcp.HeaderToolsets) // an empty one is a mistake, and not all of them
	if inPath := r.PathValue("toolsets"); inPath != "" {
		asked = append(asked, inPath)
	}
	for _, named := range asked {
		sets, err := api.ParseToolsets(named)
		if err != nil {
			return view, err
		}
		view = view.Narrow(api.View{Toolsets: sets})
	}
	for _, said := range r.Header.Values(mcp.HeaderReadOnly) {
		yes, err := strconv.ParseBool(said)
		if err != nil {
			return view, hub.Errorf(hub.InvalidArgument, "the header %s is %q and neither true nor false", mcp.HeaderReadOnly, said).WithHint("send true, or leave it out")
		}
		view.ReadOnly = view.ReadOnly || yes
	}
	return view, nil
}
