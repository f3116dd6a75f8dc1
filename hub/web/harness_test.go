package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/hub/enroll"
	"github.com/runnerhub/runnerhub/hub/web"
	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpserver"
	"github.com/runnerhub/runnerhub/pairing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Tokens of the recipe, and what the fake authenticator makes of them.
var (
	adaToken    = pairing.New(pairing.APIKey)
	bobToken    = pairing.New(pairing.APIKey)
	runnerToken = pairing.New(pairing.RunnerToken)
	logToken    = pairing.New(pairing.Capability)
)

type fakeAuth struct{}

func (fakeAuth) Authenticate(_ context.Context, token, address string) (hub.Principal, error) {
	switch token {
	case adaToken, bobToken:
		id := map[string]string{adaToken: "usr_ada", bobToken: "usr_bob"}[token]
		return hub.Principal{Kind: hub.KindUser, User: hub.User{ID: id}, Address: address}, nil
	case runnerToken:
		return hub.Principal{Kind: hub.KindRunner, Runner: hub.Runner{ID: "rnr-1"}, Address: address}, nil
	case "ak_storeaway":
		return hub.Principal{}, &hub.Error{Code: hub.Unavailable, Message: "the store cannot be reached", Hint: "try again", Err: io.ErrUnexpectedEOF}
	}
	return hub.Principal{}, hub.Errorf(hub.Unauthenticated, "no user of this hub has that API key").WithHint("ask for one")
}

// fakeJobs notes what it is asked and answers what the tests give it.
type fakeJobs struct {
	api.Jobs
	mu     sync.Mutex
	listed dispatch.ListRequest
	asker  hub.Principal
	get    func(ctx context.Context, id string) (dispatch.JobView, error)
	log    []byte
}

func (f *fakeJobs) Get(ctx context.Context, _ hub.Principal, id string) (dispatch.JobView, error) {
	if f.get != nil {
		return f.get(ctx, id)
	}
	return dispatch.JobView{Job: hub.Job{ID: id, State: hub.JobQueued}, Payload: hub.JobPayload{Spec: []byte(`{}`)}}, nil
}

func (f *fakeJobs) List(_ context.Context, p hub.Principal, r dispatch.ListRequest) (dispatch.ListResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listed, f.asker = r, p
	return dispatch.ListResult{NextCursor: "next"}, nil
}

func (f *fakeJobs) Lease(context.Context, hub.Principal, dispatch.LeaseRequest) (dispatch.LeaseResult, error) {
	return dispatch.LeaseResult{Lease: &dispatch.Lease{JobID: "job_1", Spec: []byte(`{}`), LogToken: logToken}}, nil
}

func (f *fakeJobs) AppendLog(_ context.Context, digest []byte, offset int64, data []byte) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !bytes.Equal(digest, hub.Digest(logToken)) {
		return 0, hub.Errorf(hub.NotFound, "no attempt")
	}
	if offset != int64(len(f.log)) {
		return 0, hub.Errorf(hub.Conflict, "the log ends elsewhere").WithDetail("next_offset", len(f.log))
	}
	f.log = append(f.log, data...)
	return int64(len(f.log)), nil
}

func (f *fakeJobs) Now() time.Time { return time.Unix(0, 0).UTC() }

type fakeRoster struct{ api.Roster }

func (fakeRoster) Start(_ context.Context, r enroll.StartRequest) (enroll.Started, error) {
	if r.Address != "127.0.0.1" {
		return enroll.Started{}, hub.Errorf(hub.Internal, "the address is %q", r.Address)
	}
	return enroll.Started{UserCode: "BCDF-GHJK"}, nil
}

func (fakeRoster) Find(context.Context, hub.Principal, string) (enroll.View, error) {
	return enroll.View{}, hub.Errorf(hub.NotFound, "no machine is waiting with that code")
}

// door is a front door over fakes.
type door struct {
	url  string
	jobs *fakeJobs
	log  *syncBuffer
}

func open(t *testing.T, change func(*web.Options)) *door {
	t.Helper()
	d := &door{jobs: &fakeJobs{}, log: &syncBuffer{}}
	log := slog.New(slog.NewTextHandler(d.log, nil))
	services := api.Services{Jobs: d.jobs, Roster: fakeRoster{}}
	ops := api.Operations(services)
	o := web.Options{Operations: ops, Auth: fakeAuth{}, MCP: mcpserver.New(ops, api.NewLibrary(services, ops, log), log), Logs: d.jobs, Log: log}
	if change != nil {
		change(&o)
	}
	s := httptest.NewServer(web.New(o))
	t.Cleanup(s.Close)
	d.url = s.URL
	return d
}

// answer is a response that was read.
type answer struct {
	status int
	header http.Header
	body   string
	closes bool // the connection ends with it
}

func (a answer) fault(t *testing.T) mcp.Error {
	t.Helper()
	var e mcp.Error
	if err := json.Unmarshal([]byte(a.body), &e); err != nil || e.Code == "" || e.Message == "" {
		t.Fatalf("status %d with no typed error: %q", a.status, a.body)
	}
	return e
}

func (d *door) send(t *testing.T, method, path, token, body string, change ...func(*http.Request)) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, d.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, c := range change {
		c(req)
	}
	return do(t, req)
}

func do(t *testing.T, req *http.Request) answer {
	t.Helper()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	res, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(raw), res.Close}
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

func host(name string) func(*http.Request) {
	return func(r *http.Request) { r.Host = name }
}

// syncBuffer is a log that can be waited for.
type syncBuffer struct {
	mu      sync.Mutex
	b       bytes.Buffer
	changed chan struct{}
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// await returns once the log holds text.
func (s *syncBuffer) await(t *testing.T, text string) {
	t.Helper()
	for {
		s.mu.Lock()
		if strings.Contains(s.b.String(), text) {
			s.mu.Unlock()
			return
		}
		if s.changed == nil {
			s.changed = make(chan struct{})
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-time.After(time.Minute):
			t.Fatalf("the log does not come to hold %q:\n%s", text, s.String())
		}
	}
}
