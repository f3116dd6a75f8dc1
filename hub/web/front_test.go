package web_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/hub/web"
	"github.com/runnerhub/runnerhub/mcp"
)

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

func TestFrontDoorRefuses(t *testing.T) {
	t.Parallel()
	d := open(t, func(o *web.Options) {
		o.AllowedHosts, o.AllowedOrigins, o.PublicURL = []string{"Hub.Internal"}, []string{"https://tools.example/"}, "https://hub.example:8443"
	})
	port := d.url[strings.LastIndex(d.url, ":"):]
	for name, tc := range map[string]struct {
		method, path, token, body string
		change                    func(*http.Request)
		status                    int
		code                      mcp.Code
	}{
		"foreign host":             {"GET", "/healthz", "", "", host("evil.example"), 403, mcp.CodePermissionDenied},
		"foreign host with a port": {"POST", "/mcp", adaToken, initialize, host("evil.example" + port), 403, mcp.CodePermissionDenied},
		"host that looks local":    {"GET", "/healthz", "", "", host("localhost.evil.example"), 403, mcp.CodePermissionDenied},
		"no host":                  {"GET", "/healthz", "", "", host("."), 403, mcp.CodePermissionDenied},
		"foreign origin":           {"POST", "/mcp", adaToken, initialize, header("Origin", "https://evil.example"), 403, mcp.CodePermissionDenied},
		"null origin":              {"POST", "/mcp", adaToken, initialize, header("Origin", "null"), 403, mcp.CodePermissionDenied},
		"origin of another port":   {"POST", "/mcp", adaToken, initialize, header("Origin", "http://127.0.0.1:1"), 403, mcp.CodePermissionDenied},
		"origin like an allowed":   {"POST", "/mcp", adaToken, initialize, header("Origin", "https://tools.example.evil.example"), 403, mcp.CodePermissionDenied},
		"foreign origin on pages":  {"GET", "/pair", "", "", header("Origin", "https://evil.example"), 403, mcp.CodePermissionDenied},
		"get of mcp":               {"GET", "/mcp", adaToken, "", nil, 405, mcp.CodeInvalidArgument},
		"delete of mcp":            {"DELETE", "/mcp", adaToken, "", nil, 405, mcp.CodeInvalidArgument},
		"post to a page":           {"POST", "/pair", "", "", nil, 405, mcp.CodeInvalidArgument},
		"put of jobs":              {"PUT", "/api/v1/jobs", adaToken, "", nil, 405, mcp.CodeInvalidArgument},
		"unknown path":             {"GET", "/api/v1/nothing", adaToken, "", nil, 404, mcp.CodeNotFound},
		"unknown page":             {"GET", "/wp-login.php", "", "", nil, 404, mcp.CodeNotFound},
		"large body for mcp":       {"POST", "/mcp", adaToken, `{"a":"` + strings.Repeat("x", 5<<20) + `"}`, nil, 413, mcp.CodeTooLarge},
		"large body for REST":      {"POST", "/api/v1/runners", adaToken, `{"label":"` + strings.Repeat("x", 70<<10) + `"}`, nil, 413, mcp.CodeTooLarge},
		"large body, size unsaid": {"POST", "/api/v1/runners", adaToken, `{"label":"` + strings.Repeat("x", 70<<10) + `"}`,
			func(r *http.Request) { r.ContentLength = -1 }, 413, mcp.CodeTooLarge},
		"form":              {"POST", "/api/v1/runners", adaToken, "label=x", header("Content-Type", "application/x-www-form-urlencoded"), 400, mcp.CodeInvalidArgument},
		"no token":          {"GET", "/api/v1/jobs", "", "", nil, 401, mcp.CodeUnauthenticated},
		"no token for mcp":  {"POST", "/mcp", "", initialize, nil, 401, mcp.CodeUnauthenticated},
		"basic":             {"GET", "/api/v1/jobs", "", "", header("Authorization", "Basic YTpi"), 401, mcp.CodeUnauthenticated},
		"unknown token":     {"GET", "/api/v1/jobs", "ak_x", "", nil, 401, mcp.CodeUnauthenticated},
		"two tokens":        {"GET", "/api/v1/jobs", adaToken, "", func(r *http.Request) { r.Header.Add("Authorization", "Bearer "+bobToken) }, 401, mcp.CodeUnauthenticated},
		"store away":        {"GET", "/api/v1/jobs", "ak_storeaway", "", nil, 503, mcp.CodeUnavailable},
		"runner for people": {"GET", "/api/v1/jobs", runnerToken, "", nil, 403, mcp.CodePermissionDenied},
		"person for runner": {"POST", "/api/v1/lease", adaToken, `{"request_id":"r","protocol":1}`, nil, 403, mcp.CodePermissionDenied},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			change := tc.change
			if change == nil {
				change = func(*http.Request) {}
			}
			got := d.send(t, tc.method, tc.path, tc.token, tc.body, change)
			if got.status != tc.status || got.fault(t).Code != tc.code || got.fault(t).Hint == "" {
				t.Fatalf("status %d: %s", got.status, got.body)
			}
			if tc.status == 405 && got.header.Get("Allow") == "" {
				t.Error("405 without Allow")
			}
			if want := map[bool]string{true: "Bearer"}[tc.status == 401]; got.header.Get("WWW-Authenticate") != want {
				t.Errorf("WWW-Authenticate is %q", got.header.Get("WWW-Authenticate"))
			}
		})
	}
}

func TestFrontDoorLetsIn(t *testing.T) {
	t.Parallel()
	d := open(t, func(o *web.Options) {
		o.AllowedHosts, o.AllowedOrigins, o.PublicURL = []string{"Hub.Internal"}, []string{"https://tools.example/"}, "https://hub.example:8443"
	})
	address := strings.TrimPrefix(d.url, "http://")
	port := d.url[strings.LastIndex(d.url, ":"):]
	for name, change := range map[string]func(*http.Request){
		"address":         func(*http.Request) {},
		"localhost":       host("localhost" + port),
		"localhost.":      host("LOCALHOST."),
		"IPv6":            host("[::1]:7117"),
		"configured":      host("hub.internal:1"),
		"public URL":      host("hub.example"),
		"own origin":      header("Origin", "http://"+address),
		"allowed origin":  header("Origin", "https://Tools.Example"),
		"bearer in lower": func(r *http.Request) { r.Header.Set("Authorization", "bearer  "+adaToken) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := d.send(t, "POST", "/mcp", adaToken, initialize, change, header("Accept", "application/json, text/event-stream"))
			if got.status != 200 || !strings.Contains(got.body, `"serverInfo"`) {
				t.Fatalf("status %d: %s", got.status, got.body)
			}
			if got.header.Get("Content-Type") != "application/json" || got.header.Get("X-Accel-Buffering") != "no" {
				t.Errorf("headers are %v", got.header)
			}
		})
	}
}

func TestEveryAnswerHasSecurityHeaders(t *testing.T) {
	t.Parallel()
	d := open(t, nil)
	for _, path := range []string{"/", "/pair", "/assets/pair.js", "/healthz", "/api/v1/jobs", "/nothing", "/api/v1/openapi.json"} {
		h := d.send(t, "GET", path, "", "").header
		for _, name := range []string{"X-Content-Type-Options", "X-Frame-Options", "Referrer-Policy", "Content-Security-Policy", "Cache-Control", "X-Request-Id"} {
			if h.Get(name) == "" {
				t.Errorf("%s has no %s", path, name)
			}
		}
		if csp := h.Get("Content-Security-Policy"); strings.Contains(csp, "unsafe") || !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") {
			t.Errorf("%s: policy %q", path, csp)
		}
	}
}

func TestPanicIsHidden(t *testing.T) {
	t.Parallel()
	d := open(t, func(o *web.Options) {
		o.MCP = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Begin") != "" {
				_, _ = w.Write([]byte("begun"))
			}
			panic("hunter2")
		})
	})
	got := d.send(t, "POST", "/mcp", adaToken, initialize)
	if got.status != 500 || got.fault(t).Code != mcp.CodeInternal || strings.Contains(got.body, "hunter2") {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	if id := got.header.Get("X-Request-Id"); !strings.Contains(got.body, id) || !strings.Contains(d.log.String(), "hunter2") {
		t.Errorf("body %q, log %q", got.body, d.log.String())
	}
	// Half an answer must not look whole.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.url+"/mcp", strings.NewReader(initialize))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+adaToken)
	req.Header.Set("X-Begin", "yes")
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err == nil {
		defer res.Body.Close()
		_, err = res.Body.Read(make([]byte, 100))
		for err == nil {
			_, err = res.Body.Read(make([]byte, 100))
		}
		if err.Error() == "EOF" {
			t.Error("the connection was not cut")
		}
	}
}

func TestAccessLogHasOneLineAndNoSecrets(t *testing.T) {
	t.Parallel()
	d := open(t, nil)
	d.send(t, "GET", "/api/v1/jobs?cursor=topsecret&x="+bobToken, adaToken, "")
	d.send(t, "PUT", "/api/v1/logs/"+logToken+"?offset=0", "", "bytes")
	d.send(t, "GET", "/api/v1/pairing/BCDF-GHJK", adaToken, "")
	d.send(t, "GET", "/oops/"+adaToken+"/"+runnerToken, "", "")
	d.send(t, "GET", "/api/v1/jobs/job_1%0afake=line", adaToken, "")
	d.send(t, "GET", "/api/v1/jobs/job_1", adaToken, "")
	log := d.log.String()
	for _, secret := range []string{adaToken, bobToken, runnerToken, logToken, "topsecret", "BCDF", "bytes\""} {
		if strings.Contains(log, secret) {
			t.Errorf("the log has %q:\n%s", secret, log)
		}
	}
	lines := strings.Split(strings.TrimSpace(log), "\n")
	if len(lines) != 6 {
		t.Errorf("%d lines:\n%s", len(lines), log)
	}
	last := lines[len(lines)-1]
	for _, want := range []string{"method=GET", "path=/api/v1/jobs/job_1", "status=200", "actor=user:usr_ada", "operation=get_job", "address=127.0.0.1", "request_id=", "ms="} {
		if !strings.Contains(last, want) {
			t.Errorf("no %s in %s", want, last)
		}
	}
	if !strings.Contains(log, "path=/api/v1/logs/…") || !strings.Contains(log, "path=/oops/ak_…/rnr_…") {
		t.Errorf("paths are not masked:\n%s", log)
	}
}

var errNone = errors.New("none")

func TestHealthAndReadiness(t *testing.T) {
	t.Parallel()
	drain := make(chan struct{})
	var storeErr atomic.Value
	storeErr.Store(errNone)
	d := open(t, func(o *web.Options) {
		o.Drain = drain
		o.Ready = func(context.Context) error {
			if err := storeErr.Load().(error); !errors.Is(err, errNone) {
				return err
			}
			return nil
		}
	})
	if got := d.send(t, "GET", "/healthz", "", ""); got.status != 200 {
		t.Errorf("healthz: %d %s", got.status, got.body)
	}
	if got := d.send(t, "HEAD", "/readyz", "", ""); got.status != 200 || got.body != "" {
		t.Errorf("readyz: %d %s", got.status, got.body)
	}
	storeErr.Store(errors.New("dial postgres://hub:hunter2@db"))
	if got := d.send(t, "GET", "/readyz", "", ""); got.status != 503 || strings.Contains(got.body, "hunter2") {
		t.Errorf("readyz without a store: %d %s", got.status, got.body)
	}
	close(drain)
	got := d.send(t, "GET", "/readyz", "", "")
	if got.status != 503 || got.fault(t).Code != mcp.CodeDraining || !got.fault(t).Retryable {
		t.Errorf("readyz while draining: %d %s", got.status, got.body)
	}
	if got := d.send(t, "GET", "/healthz", "", ""); got.status != 200 {
		t.Errorf("healthz while draining: %d", got.status)
	}
}

func TestClientThatLeavesEndsItsCall(t *testing.T) {
	t.Parallel()
	d := open(t, nil)
	entered, left := make(chan struct{}), make(chan struct{})
	d.jobs.get = func(ctx context.Context, _ string) (dispatch.JobView, error) {
		close(entered)
		<-ctx.Done()
		close(left)
		return dispatch.JobView{}, ctx.Err()
	}
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url+"/api/v1/jobs/job_1", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+adaToken)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req); err == nil {
			res.Body.Close()
		}
	}()
	<-entered
	cancel()
	<-left
	<-done
}
