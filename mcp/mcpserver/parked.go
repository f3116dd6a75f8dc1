package mcpserver

import (
	"bytes"
	"io"
	"net/http"

	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/mcp"
)

// parked has the calls wait here that hold longest and of which there are most: below this, the library and the use case take a
// stack of 64 KiB and keep what they have made of the request for as long as they are held. A call that finds nothing to answer comes
// back, waits, and is made again.
//
// One that wants to hear of progress is left to wait below, where it is told.
func parked(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		message, err := io.ReadAll(r.Body) // the front door has read and bounded it
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if !bytes.Contains(message, []byte(`"`+mcp.ToolWaitJob+`"`)) || bytes.Contains(message, []byte("progressToken")) {
			r.Body = io.NopCloser(bytes.NewReader(message))
			next.ServeHTTP(w, r)
			return
		}
		ctx, parking := api.WithParking(r.Context())
		for {
			again := r.Clone(ctx) // the library may change it
			again.Body = io.NopCloser(bytes.NewReader(message))
			answer := &page{header: http.Header{}, status: http.StatusOK}
			next.ServeHTTP(answer, again)
			if !parking.Parked() {
				answer.writeTo(w)
				return
			}
			parking.Await()
		}
	})
}

// page is an answer that may be thrown away.
type page struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (p *page) Header() http.Header { return p.header }

func (p *page) WriteHeader(status int) { p.status = status }

func (p *page) Write(b []byte) (int, error) { return p.body.Write(b) }

func (p *page) writeTo(w http.ResponseWriter) {
	for name, values := range p.header {
		w.Header()[name] = values
	}
	w.WriteHeader(p.status)
	_, _ = w.Write(p.body.Bytes()) // an error says that the caller has gone
}
