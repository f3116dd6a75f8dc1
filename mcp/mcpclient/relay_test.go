package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
)

// relay passes a message on and returns what came of it.
func relay(t *testing.T, h *fakeHub, m mcpclient.Message) ([]string, error) {
	t.Helper()
	c := newClient(t, mcpclient.Config{URL: h.URL, Token: func() string { return token }})
	var got []string
	err := c.Relay(t.Context(), m, func(raw json.RawMessage) { got = append(got, string(raw)) })
	return got, err
}

// answers makes the hub answer everything in one way, and counts.
func answers(h *fakeHub, status int, media, body string) *atomic.Int32 {
	calls := new(atomic.Int32)
	h.before(func(w http.ResponseWriter, _ *http.Request) bool {
		calls.Add(1)
		w.Header().Set("Content-Type", media)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
		return true
	})
	return calls
}

func TestRelayPassesAnswersOnAsTheyAre(t *testing.T) {
	t.Parallel()
	const answer, progress = `{"jsonrpc":"2.0","id":1,"result":{"b":1.0,"a":[]}}`, `{"jsonrpc":"2.0","method":"notifications/progress"}`
	for name, tc := range map[string]struct {
		status      int
		media, body string
		want        []string
	}{
		"JSON":                     {200, "application/json", answer + "\n", []string{answer}},
		"nothing":                  {202, "", "", nil},
		"a stream":                 {200, "text/event-stream", "event: message\ndata: " + progress + "\n\n: alive\n\nid: 7\ndata:" + answer + "\n\n", []string{progress, answer}},
		"a stream with CRLF":       {200, "text/event-stream; charset=utf-8", "data: " + answer + "\r\n\r\n", []string{answer}},
		"data over several lines":  {200, "text/event-stream", "data: {\ndata: }\n\n", []string{"{\n}"}},
		"an event of another type": {200, "text/event-stream", "event: endpoint\ndata: {}\n\ndata: " + answer + "\n\n", []string{answer}},
		"an event that is cut off": {200, "text/event-stream", "data: " + progress + "\n\ndata: " + answer + "\n", []string{progress}},
		"an error with a status":   {404, "application/json", `{"jsonrpc":"2.0","id":1,"error":{"code":-32601}}`, []string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32601}}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHub(t, nil)
			answers(h, tc.status, tc.media, tc.body)
			got, err := relay(t, h, mcpclient.Message{Raw: []byte(`{}`)})
			if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
				t.Errorf("%v, -want +got\n%s", err, diff)
			}
		})
	}
}

func TestRelayNarrowsTheTools(t *testing.T) {
	t.Parallel()
	h := newHub(t, nil)
	answers(h, 200, "application/json", `{}`)
	for _, view := range []mcpclient.View{{}, {Toolsets: "jobs,artifacts", ReadOnly: true}} {
		if _, err := relay(t, h, mcpclient.Message{Raw: []byte(`{}`), Method: "tools/list", View: view}); err != nil {
			t.Fatal(err)
		}
		got := h.seen[len(h.seen)-1]
		readOnly := ""
		if view.ReadOnly {
			readOnly = "true"
		}
		if got.Get("X-Mcp-Toolsets") != view.Toolsets || got.Get("X-Mcp-Readonly") != readOnly {
			t.Errorf("%+v: %v", view, got)
		}
	}
}

func TestRelaySendsWhatTheRevisionWants(t *testing.T) {
	t.Parallel()
	const named = `{"name":"whoami","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`
	for name, tc := range map[string]struct {
		agreed, params               string
		revision, method, calledTool string
	}{
		"before the handshake":  {"", `{}`, "", "", ""},
		"after it":              {"2025-11-25", `{"name":"whoami"}`, "2025-11-25", "", ""},
		"in the message itself": {"", named, "2026-07-28", "tools/call", "whoami"},
		"in both":               {"2025-11-25", named, "2026-07-28", "tools/call", "whoami"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHub(t, nil)
			answers(h, 200, "application/json", `{}`)
			if _, err := relay(t, h, mcpclient.Message{Raw: []byte(`{}`), Method: "tools/call", Params: json.RawMessage(tc.params), Revision: tc.agreed}); err != nil {
				t.Fatal(err)
			}
			got := h.seen[0]
			for header, want := range map[string]string{
				"Authorization": "Bearer " + token, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
				"Mcp-Protocol-Version": tc.revision, "Mcp-Method": tc.method, "Mcp-Name": tc.calledTool,
			} {
				if got.Get(header) != want {
					t.Errorf("%s is %q, want %q", header, got.Get(header), want)
				}
			}
		})
	}
}

func TestRelayRepeatsOnlyWhatMayBe(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status     int
		media      string
		body       string
		repeatable bool
		calls      int32
		code       mcp.Code
	}{
		"a list":              {502, "text/html", "bad gateway", true, int32(quick.MaxTries), mcp.CodeUnavailable},
		"a call of a tool":    {502, "text/html", "bad gateway", false, 1, mcp.CodeUnavailable},
		"turned away":         {503, "application/json", `{"code":"draining","message":"m","retryable":true}`, false, int32(quick.MaxTries), mcp.CodeDraining},
		"refused":             {401, "application/json", `{"code":"unauthenticated","message":"m"}`, true, 1, mcp.CodeUnauthenticated},
		"no JSON":             {200, "application/json", "hello", true, 1, mcp.CodeInternal},
		"a stream of no JSON": {200, "text/event-stream", "data: hello\n\n", true, 1, mcp.CodeInternal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHub(t, nil)
			calls := answers(h, tc.status, tc.media, tc.body)
			got, err := relay(t, h, mcpclient.Message{Raw: []byte(`{}`), Repeatable: tc.repeatable})
			wantError(t, err, tc.code)
			if got != nil || calls.Load() != tc.calls {
				t.Errorf("passed on %v after %d calls, want %d", got, calls.Load(), tc.calls)
			}
		})
	}
}

// To repeat a call whose answer has begun would give its beginning twice.
func TestRelayDoesNotRepeatABrokenAnswer(t *testing.T) {
	t.Parallel()
	h := newHub(t, nil)
	var calls atomic.Int32
	h.before(func(w http.ResponseWriter, _ *http.Request) bool {
		calls.Add(1)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprint(w, "data: {}\n\n")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	got, err := relay(t, h, mcpclient.Message{Raw: []byte(`{}`), Repeatable: true})
	wantError(t, err, mcp.CodeUnavailable)
	if len(got) != 1 || calls.Load() != 1 {
		t.Errorf("passed on %v in %d calls, want one of each", got, calls.Load())
	}
}

func TestRelayEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	h := newHub(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan struct{})
	h.before(func(_ http.ResponseWriter, r *http.Request) bool {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that a client leaves
		cancel()
		<-r.Context().Done()
		close(gone)
		return true
	})
	c := newClient(t, mcpclient.Config{URL: h.URL})
	if err := c.Relay(ctx, mcpclient.Message{Raw: []byte(`{}`)}, func(json.RawMessage) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want canceled", err)
	}
	<-gone
}
