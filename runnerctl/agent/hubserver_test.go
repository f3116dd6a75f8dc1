package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/runnerhub/runnerhub/mcp"
)

// serve puts h behind HTTP, as a runner meets it: JSON-RPC for the tools, PUT for log bytes.
func serve(tb testing.TB, h *fakeHub) *httptest.Server {
	tb.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /mcp", h.rpc)
	mux.HandleFunc("PUT /log/", func(w http.ResponseWriter, r *http.Request) {
		offset, _ := strconv.ParseInt(r.URL.Query().Get("offset"), 10, 64)
		body, _ := io.ReadAll(r.Body)
		res, err := h.PutLog(r.Context(), r.URL.Path, offset, body)
		if err != nil {
			var e *mcp.Error
			if !errors.As(err, &e) {
				e = &mcp.Error{Code: mcp.CodeInternal, Message: err.Error()}
			}
			reply(w, e.Code.Info().HTTP, e)
			return
		}
		reply(w, http.StatusOK, res)
	})
	srv := httptest.NewServer(mux)
	tb.Cleanup(srv.Close)
	return srv
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (h *fakeHub) rpc(w http.ResponseWriter, r *http.Request) {
	var req struct {
		ID     any    `json:"id"`
		Method string `json:"method"`
		Params struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"params"`
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		reply(w, http.StatusBadRequest, map[string]any{})
		return
	}
	answer := func(result any) {
		reply(w, http.StatusOK, map[string]any{"jsonrpc": "2.0", "id": req.ID, "result": result})
	}
	switch req.Method {
	case "initialize":
		answer(map[string]any{
			"protocolVersion": "2025-11-25", "capabilities": map[string]any{"tools": map[string]any{}},
			"serverInfo": map[string]any{"name": "fake", "version": "1"},
		})
	case "tools/call":
		out, err := h.call(r.Context(), req.Params.Name, req.Params.Arguments)
		var e *mcp.Error
		switch {
		case errors.As(err, &e):
			answer(map[string]any{"isError": true, "content": []any{}, "_meta": e})
		case err != nil:
			panic(http.ErrAbortHandler) // the connection breaks
		default:
			answer(map[string]any{"content": []any{}, "structuredContent": out})
		}
	default: // a notification
		w.WriteHeader(http.StatusAccepted)
	}
}

func (h *fakeHub) call(ctx context.Context, tool string, args json.RawMessage) (any, error) {
	switch tool {
	case mcp.ToolLeaseJob:
		return through(ctx, args, h.LeaseJob)
	case mcp.ToolHeartbeatJob:
		return through(ctx, args, h.HeartbeatJob)
	case mcp.ToolSubmitJobResult:
		return through(ctx, args, h.SubmitJobResult)
	case mcp.ToolFailJob:
		return through(ctx, args, h.FailJob)
	default:
		return through(ctx, args, h.ReleaseJob)
	}
}

func through[In, Out any](ctx context.Context, raw json.RawMessage, f func(context.Context, In) (Out, error)) (any, error) {
	var in In
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	return f(ctx, in)
}
