package mcpclient_test

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
)

func serveJSON(h *fakeHub, pattern string, status int, answer any, check func(*http.Request, []byte)) {
	h.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if check != nil {
			check(r, body)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(answer)
	})
}

func TestPairingCalls(t *testing.T) {
	t.Parallel()
	h := newHub(t, nil)
	bare := func(r *http.Request, _ []byte) {
		if r.Header.Get("Authorization") != "" {
			t.Errorf("%s sent a token", r.URL.Path)
		}
	}
	serveJSON(h, "POST /api/v1/pairing", 200, mcp.StartPairingResult{PairingID: "p1", UserCode: "BCDF-GHJK"}, bare)
	serveJSON(h, "POST /api/v1/pairing/redeem", 200, mcp.RedeemPairingResult{State: mcp.PairingPending}, bare)
	serveJSON(h, "POST /api/v1/pairing/decide", 200, mcp.PairingView{PairingID: "p1", State: mcp.PairingApproved}, nil)
	serveJSON(h, "GET /api/v1/pairing/{code}", 200, mcp.PairingView{PairingID: "p1"}, func(r *http.Request, _ []byte) {
		if r.PathValue("code") != "BCDF-GHJK" || r.Header.Get("Authorization") != "Bearer "+token {
			t.Errorf("code %q, %v", r.PathValue("code"), r.Header)
		}
	})
	serveJSON(h, "DELETE /api/v1/runners/self", 200, mcp.RevokeRunnerResult{Runner: mcp.Runner{ID: "rnr-1"}}, nil)
	serveJSON(h, "GET /healthz", 200, map[string]string{"status": "ok"}, nil)

	c := newClient(t, mcpclient.Config{URL: h.URL, Token: func() string { return token }})
	if got, err := c.StartPairing(t.Context(), mcp.StartPairingArgs{}); err != nil || got.UserCode != "BCDF-GHJK" {
		t.Errorf("start: %+v, %v", got, err)
	}
	if got, err := c.RedeemPairing(t.Context(), mcp.RedeemPairingArgs{}); err != nil || got.State != mcp.PairingPending {
		t.Errorf("redeem: %+v, %v", got, err)
	}
	if got, err := c.ViewPairing(t.Context(), "BCDF-GHJK"); err != nil || got.PairingID != "p1" {
		t.Errorf("view: %+v, %v", got, err)
	}
	if got, err := c.DecidePairing(t.Context(), mcp.DecidePairingArgs{}); err != nil || got.State != mcp.PairingApproved {
		t.Errorf("decide: %+v, %v", got, err)
	}
	if got, err := c.Unpair(t.Context()); err != nil || got.Runner.ID != "rnr-1" {
		t.Errorf("unpair: %+v, %v", got, err)
	}
	if err := c.Health(t.Context()); err != nil {
		t.Errorf("health: %v", err)
	}
}

func TestPutLog(t *testing.T) {
	t.Parallel()
	h := newHub(t, nil)
	serveJSON(h, "PUT /logs/one", 200, mcp.PutLogResult{NextOffset: 12}, func(r *http.Request, body []byte) {
		if r.URL.Query().Get("offset") != "7" || string(body) != "a\x00\xffb\n" {
			t.Errorf("offset %q, body %q", r.URL.Query().Get("offset"), body)
		}
	})
	serveJSON(h, "PUT /logs/gap", 409, mcp.Error{Code: mcp.CodeConflict, Message: "a gap", Details: map[string]any{"next_offset": 3}}, nil)
	c := newClient(t, mcpclient.Config{URL: h.URL})
	for _, url := range []string{"/logs/one", h.URL + "/logs/one"} {
		got, err := c.PutLog(t.Context(), url, 7, []byte("a\x00\xffb\n"))
		if err != nil || got.NextOffset != 12 {
			t.Errorf("%+v, %v", got, err)
		}
	}
	_, err := c.PutLog(t.Context(), "/logs/gap", 7, []byte("x"))
	if e := wantError(t, err, mcp.CodeConflict); e.Details["next_offset"] != 3.0 {
		t.Errorf("details %v", e.Details)
	}
}
