package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/errgroup"

	"github.com/runnerhub/runnerhub/hub/server"
	"github.com/runnerhub/runnerhub/hub/server/servertest"
	"github.com/runnerhub/runnerhub/mcp"
)

// turns is a proxy that gives each request to the next hub, whatever the one before it was about.
type turns struct {
	hubs   []*url.URL
	next   atomic.Int64
	served []atomic.Int64
}

func (p *turns) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i := int(p.next.Add(1)) % len(p.hubs)
	p.served[i].Add(1)
	(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(p.hubs[i]) }}).ServeHTTP(w, r)
}

// foreign is a session of a client that is not ours.
type foreign struct {
	*testing.T
	s *sdk.ClientSession
}

type withToken string

func (token withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(token))
	return http.DefaultTransport.RoundTrip(r)
}

func newForeign(t *testing.T, url, token string) foreign {
	t.Helper()
	s, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&sdk.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: withToken(token)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Close() // the hub that it asks may have gone
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return foreign{t, s}
}

// try calls a tool and reads its answer into out.
func (f foreign) try(tool string, args map[string]any, out any) error {
	res, err := f.s.CallTool(f.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil || res.IsError {
		return fmt.Errorf("%s: %+v, %w", tool, res, err)
	}
	raw, err := json.Marshal(res.StructuredContent)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, out)
}

// call is try of what must not fail.
func (f foreign) call(tool string, args map[string]any, out any) {
	f.Helper()
	if err := f.try(tool, args, out); err != nil {
		f.Fatal(err)
	}
}

// work asks for a job until there is one: a held call ends with nothing after a while.
func (f foreign) work(args map[string]any) (*mcp.Lease, error) {
	for {
		var got mcp.LeaseJobResult
		if err := f.try(mcp.ToolLeaseJob, args, &got); err != nil || got.Lease != nil {
			return got.Lease, err
		}
	}
}

// A client knows of one address. What it began at one hub it goes on with at the next, and a runner that
// waits at one hears of a job that came to another.
func TestAnyCallMayGoToAnyHub(t *testing.T) {
	t.Parallel()
	database, blobs := servertest.Database(t), t.TempDir()
	p := &turns{served: make([]atomic.Int64, 3)}
	var first *servertest.Hub
	for range p.served {
		h := servertest.Start(t, func(s *server.Settings) { s.Database, s.Blobs = database, blobs })
		if first == nil {
			first = h
		}
		u, err := url.Parse(h.URL)
		if err != nil {
			t.Fatal(err)
		}
		p.hubs = append(p.hubs, u)
	}
	proxy := httptest.NewServer(p)
	t.Cleanup(proxy.Close)
	people := newForeign(t, proxy.URL+"/mcp", first.AdminKey(t))
	runner := newForeign(t, proxy.URL+"/mcp", first.Pair(t, "box"))

	for i := range 7 { // of three hubs each is met in each part
		ask := map[string]any{
			"request_id": "request-" + string(rune('a'+i)), "protocol": 1, "wait_ms": 25_000, "slots": 1, "free_slots": 1,
			"capabilities": []string{"docker", "linux", "amd64"}, "os": "linux", "arch": "amd64",
		}
		var lease *mcp.Lease
		var asking errgroup.Group
		asking.Go(func() (err error) {
			lease, err = runner.work(ask)
			return err
		})
		var job mcp.SubmitJobResult
		people.call(mcp.ToolSubmitJob, map[string]any{"spec": map[string]any{"image": "busybox", "command": []string{"true"}}}, &job)
		if err := asking.Wait(); err != nil || lease.JobID != job.Job.ID {
			t.Fatalf("job %s: the runner got %+v, %v", job.Job.ID, lease, err)
		}
		proof := map[string]any{
			"job_id": lease.JobID, "attempt": lease.Attempt, "lease_epoch": lease.LeaseEpoch, "lease_token": lease.LeaseToken,
		}
		with := func(more map[string]any) map[string]any {
			for k, v := range proof {
				more[k] = v
			}
			return more
		}
		var beat mcp.HeartbeatJobResult
		runner.call(mcp.ToolHeartbeatJob, with(map[string]any{"phase": "running"}), &beat)
		if beat.State != mcp.HeartbeatHeld {
			t.Fatalf("%+v", beat)
		}
		report := with(map[string]any{"result": map[string]any{
			"status": "succeeded", "exit_code": 0, "usage": map[string]any{"cpu_ms": 0, "memory_peak_bytes": 0, "wall_ms": 1},
			"leaks": map[string]any{"containers": 0, "networks": 0, "volumes": 0},
		}})
		var settled mcp.ReportResult
		if runner.call(mcp.ToolSubmitJobResult, report, &settled); !settled.Accepted || settled.Duplicate {
			t.Fatalf("%+v", settled)
		}
		if runner.call(mcp.ToolSubmitJobResult, report, &settled); !settled.Accepted || !settled.Duplicate { // at another hub
			t.Fatalf("the same again: %+v", settled)
		}
		var end mcp.WaitJobResult
		people.call(mcp.ToolWaitJob, map[string]any{"job_id": job.Job.ID, "wait_ms": 20_000}, &end)
		if end.State != "succeeded" {
			t.Fatalf("%+v", end)
		}
	}
	for i := range p.served {
		if p.served[i].Load() == 0 {
			t.Errorf("hub %d was never asked", i)
		}
	}
}
