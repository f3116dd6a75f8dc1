package mcpclient_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
)

const token = "rnr_0123456789abcdefghijklmnopqrstuvwxyzABCD"

func whoami(json.RawMessage) (any, *mcp.Error) { return mcp.WhoamiResult{Login: "ann"}, nil }

func TestIdempotentCallsAreRepeated(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(w http.ResponseWriter){
		"500": func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) },
		"502 page": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusBadGateway)
		},
		"404":       func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) },
		"proxy 403": func(w http.ResponseWriter) { w.WriteHeader(http.StatusForbidden) },
		"rate limit": func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
		},
		"cut off": func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"our error": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusServiceUnavailable)
			_ = json.NewEncoder(w).Encode(mcp.Error{Code: mcp.CodeDraining, Message: "going", Retryable: true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHub(t, map[string]tool{mcp.ToolWhoami: whoami})
			var n atomic.Int32
			h.before(func(w http.ResponseWriter, _ *http.Request) bool {
				if n.Add(1) > 2 { // the handshake and the call meet it, or the handshake twice
					return false
				}
				answer(w)
				return true
			})
			res, err := newClient(t, mcpclient.Config{URL: h.URL}).Whoami(t.Context())
			if err != nil || res.Login != "ann" {
				t.Errorf("%+v, %v", res, err)
			}
		})
	}
}

func TestWhatMayHaveHappenedIsNotRepeated(t *testing.T) {
	t.Parallel()
	var n atomic.Int32
	h := newHub(t, map[string]tool{
		mcp.ToolWhoami: whoami,
		mcp.ToolPairRunner: func(json.RawMessage) (any, *mcp.Error) {
			n.Add(1)
			return nil, &mcp.Error{Code: mcp.CodeUnavailable, Message: "perhaps", Retryable: true}
		},
	})
	c := newClient(t, mcpclient.Config{URL: h.URL})
	_, err := c.PairRunner(t.Context(), mcp.PairRunnerArgs{})
	wantError(t, err, mcp.CodeUnavailable)
	if n.Load() != 1 {
		t.Errorf("it was called %d times", n.Load())
	}
}

func TestWhatSurelyDidNotHappenIsRepeated(t *testing.T) {
	t.Parallel()
	// A listener that is closed at first: nothing answers, so nothing can have happened.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	h := newHub(t, map[string]tool{mcp.ToolPairRunner: func(json.RawMessage) (any, *mcp.Error) { return mcp.PairRunnerResult{PairingToken: "p"}, nil }})
	c := newClient(t, mcpclient.Config{URL: "http://" + address, Retry: mcpclient.Retry{MaxTries: 100, Base: 20 * time.Millisecond, Cap: 20 * time.Millisecond, Within: time.Minute}})
	done := make(chan error, 1)
	go func() {
		res, err := c.PairRunner(t.Context(), mcp.PairRunnerArgs{})
		if err == nil && res.PairingToken != "p" {
			err = errors.New("wrong answer")
		}
		done <- err
	}()
	if l, err = net.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: h.Config.Handler, ReadHeaderTimeout: time.Second}
	go func() { _ = srv.Serve(l) }()
	defer srv.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	srv := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(srv.Close)
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	plain := newHub(t, map[string]tool{})
	for name, c := range map[string]struct{ url, word string }{
		"refused":           {"http://127.0.0.1:1", "cannot connect"},
		"no such host":      {"http://hub.invalid", "cannot be found"},
		"unknown authority": {srv.URL, "authority"},
		"no TLS":            {strings.Replace(plain.URL, "http:", "https:", 1), "TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := newClient(t, mcpclient.Config{URL: c.url, Retry: mcpclient.NoRetry}).Whoami(t.Context())
			if e := wantError(t, err, mcp.CodeUnavailable); e.Hint == "" || !strings.Contains(e.Message, c.word) {
				t.Errorf("%q, hint %q; want the word %q", e.Message, e.Hint, c.word)
			}
		})
	}
}

func TestPagesAndRedirectsAreNoAnswers(t *testing.T) {
	t.Parallel()
	var leaked atomic.Bool
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { leaked.Store(true) }))
	defer elsewhere.Close()
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		word   string
	}{
		"captive portal": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, "<html>Welcome to the hotel</html>")
		}, "web page"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/login", http.StatusTemporaryRedirect)
		}, "redirects"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, map[string]tool{})
			h.before(func(w http.ResponseWriter, r *http.Request) bool { c.answer(w, r); return true })
			cl := newClient(t, mcpclient.Config{URL: h.URL, Token: func() string { return token }, Retry: mcpclient.NoRetry})
			_, err := cl.Whoami(t.Context())
			if e := wantError(t, err, mcp.CodeUnavailable); !strings.Contains(e.Message, c.word) || e.Hint == "" {
				t.Errorf("%q, hint %q", e.Message, e.Hint)
			}
		})
	}
	if leaked.Load() {
		t.Error("a redirect was followed")
	}
}

func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	h := newHub(t, map[string]tool{mcp.ToolWhoami: func(json.RawMessage) (any, *mcp.Error) {
		return mcp.WhoamiResult{Login: strings.Repeat("x", 1<<20)}, nil
	}})
	_, err := newClient(t, mcpclient.Config{URL: h.URL, MaxResponse: 64 << 10}).Whoami(t.Context())
	wantError(t, err, mcp.CodeTooLarge)
}

func TestTokenRotationAndSecrecy(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	h := newHub(t, map[string]tool{mcp.ToolWhoami: whoami})
	h.mux.HandleFunc("PUT /api/v1/logs/{token}", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("the runner's token went with log bytes")
		}
		w.WriteHeader(http.StatusBadRequest)
	})
	current := token
	c := newClient(t, mcpclient.Config{URL: h.URL, Token: func() string { return current }, Logger: logger})
	for _, tok := range []string{token, strings.Replace(token, "0123", "9876", 1)} {
		current = tok
		if _, err := c.Whoami(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := h.seen[len(h.seen)-1].Get("Authorization"); got != "Bearer "+tok {
			t.Errorf("Authorization %q", got)
		}
	}
	capability := "cap_" + strings.Repeat("Zz09", 10)
	_, err := c.PutLog(t.Context(), h.URL+"/api/v1/logs/"+capability, 0, []byte("x"))
	dead := newClient(t, mcpclient.Config{URL: "http://127.0.0.1:1", Token: func() string { return token }, Logger: logger, Retry: mcpclient.NoRetry})
	_, err2 := dead.PutLog(t.Context(), "/api/v1/logs/"+capability, 0, []byte("x"))
	for what, text := range map[string]string{"log": log.String(), "error": err.Error() + err2.Error()} {
		if strings.Contains(text, "Zz09Zz09") || strings.Contains(text, "456789abcdef") {
			t.Errorf("a secret is in the %s:\n%s", what, text)
		}
	}
	if !strings.Contains(log.String(), "hub request") {
		t.Error("nothing was logged")
	}
}

func TestTheCallersContextIsItsOwn(t *testing.T) {
	t.Parallel()
	h := newHub(t, map[string]tool{})
	arrived := make(chan struct{}, 1)
	h.before(func(_ http.ResponseWriter, r *http.Request) bool {
		_, _ = io.ReadAll(r.Body) // else the server does not notice that the client is gone
		arrived <- struct{}{}
		<-r.Context().Done()
		return true
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	_, err := newClient(t, mcpclient.Config{URL: h.URL}).LeaseJob(ctx, mcp.LeaseJobArgs{WaitMS: 25_000})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestBadAddresses(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{"", "localhost:7117", "ftp://x", "http://", "http://u:secret@x", "http://x/?a=b", "http://[::1"} {
		_, err := mcpclient.New(mcpclient.Config{URL: raw})
		if e := wantError(t, err, mcp.CodeInvalidArgument); strings.Contains(e.Error(), "secret") {
			t.Errorf("%q: %v", raw, e)
		}
	}
	c := newClient(t, mcpclient.Config{URL: "https://hub.example/runners/"})
	if c.URL() != "https://hub.example/runners" {
		t.Errorf("URL %q", c.URL())
	}
}
