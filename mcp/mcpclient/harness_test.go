package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"go.uber.org/goleak"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tool answers one call: a result, or an error of the contract's.
type tool func(args json.RawMessage) (any, *mcp.Error)

// fakeHub serves tools by mcp-go's server, as a hub does, behind a middleware that tests can replace.
type fakeHub struct {
	*httptest.Server
	mux *http.ServeMux

	mu    sync.Mutex
	front func(next http.Handler) http.Handler
	seen  []http.Header
}

func newHub(t *testing.T, tools map[string]tool) *fakeHub {
	t.Helper()
	s := server.NewMCPServer("fake", "1")
	for name, f := range tools {
		s.AddTool(mcpgo.NewToolWithRawSchema(name, "", json.RawMessage(`{"type":"object"}`)), func(_ context.Context, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
			args, err := json.Marshal(req.Params.Arguments)
			if err != nil {
				return nil, err
			}
			out, fault := f(args)
			if fault == nil {
				return mcpgo.NewToolResultStructured(out, "ok"), nil
			}
			res := mcpgo.NewToolResultError(string(fault.Code) + ": " + fault.Message)
			raw, _ := json.Marshal(fault)
			meta := map[string]any{}
			_ = json.Unmarshal(raw, &meta)
			res.Meta = &mcpgo.Meta{AdditionalFields: meta}
			return res, nil
		})
	}
	h := &fakeHub{mux: http.NewServeMux()}
	h.mux.Handle("/mcp", server.NewStreamableHTTPServer(s, server.WithStateLess(true), server.WithDisableStreaming(true)))
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		front := h.front
		h.seen = append(h.seen, r.Header.Clone())
		h.mu.Unlock()
		next := http.Handler(h.mux)
		if front != nil {
			next = front(next)
		}
		next.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	return h
}

// before puts f in front of the hub; it answers itself when it returns true.
func (h *fakeHub) before(f func(w http.ResponseWriter, r *http.Request) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.front = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !f(w, r) {
				next.ServeHTTP(w, r)
			}
		})
	}
}

// quick makes the pauses of retries short.
var quick = mcpclient.Retry{MaxTries: 4, Base: time.Millisecond, Cap: time.Millisecond, Within: time.Minute}

func newClient(t *testing.T, cfg mcpclient.Config) *mcpclient.Client {
	t.Helper()
	if cfg.Retry == (mcpclient.Retry{}) {
		cfg.Retry = quick
	}
	c, err := mcpclient.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func wantError(t *testing.T, err error, code mcp.Code) *mcp.Error {
	t.Helper()
	var e *mcp.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v (%T), want a *mcp.Error of code %s", err, err, code)
	}
	if e.Code != code {
		t.Fatalf("error %v, want code %s", e, code)
	}
	if e.Message == "" {
		t.Error("the error has no message")
	}
	return e
}
