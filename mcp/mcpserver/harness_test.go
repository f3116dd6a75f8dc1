package mcpserver_test

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/hub/enroll"
	"github.com/runnerhub/runnerhub/hub/web"
	"github.com/runnerhub/runnerhub/mcp/mcpserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The tokens that the fake authenticator knows.
const (
	personToken = "ak_person"
	runnerToken = "rnr_runner"
)

type fakeAuth struct{}

func (fakeAuth) Authenticate(_ context.Context, token, _ string) (hub.Principal, error) {
	switch token {
	case personToken:
		return hub.Principal{Kind: hub.KindUser, User: hub.User{ID: "usr_1", Login: "ada"}}, nil
	case runnerToken:
		return hub.Principal{Kind: hub.KindRunner, Runner: hub.Runner{ID: "rnr-1", Label: "box"}}, nil
	}
	return hub.Principal{}, hub.Errorf(hub.Unauthenticated, "unknown token").WithHint("use another")
}

// fakeJobs answers the few use cases that the tests call.
type fakeJobs struct {
	api.Jobs
	get func(ctx context.Context, id string) (dispatch.JobView, error)
}

func (f *fakeJobs) Get(ctx context.Context, _ hub.Principal, id string) (dispatch.JobView, error) {
	return f.get(ctx, id)
}

func (f *fakeJobs) Lease(context.Context, hub.Principal, dispatch.LeaseRequest) (dispatch.LeaseResult, error) {
	return dispatch.LeaseResult{HubID: "hub-1", Lease: &dispatch.Lease{JobID: "job_1", Proof: hub.Proof{Attempt: 1, Epoch: 1, Nonce: "lse_1"}, Spec: []byte(`{"image":"x"}`)}}, nil
}

func (f *fakeJobs) Submit(context.Context, hub.Principal, dispatch.SubmitRequest) (dispatch.SubmitResult, error) {
	return dispatch.SubmitResult{}, hub.Errorf(hub.InvalidArgument, "the spec has a fault").WithHint("correct it and call check_job").
		WithDetail("problems", []dispatch.SpecProblem{{Field: "image", Line: 1, Column: 1, Code: "missing", Message: "image is missing"}})
}

func (f *fakeJobs) List(context.Context, hub.Principal, dispatch.ListRequest) (dispatch.ListResult, error) {
	return dispatch.ListResult{}, nil
}

func (f *fakeJobs) Fresh(runners ...hub.Runner) []hub.Runner { return runners }
func (f *fakeJobs) HubID(context.Context) (string, error)    { return "hub-1", nil }
func (f *fakeJobs) Policy() hub.Policy                       { return hub.DefaultPolicy() }
func (f *fakeJobs) Now() time.Time                           { return time.Unix(0, 0).UTC() }

type fakeRoster struct{ api.Roster }

func (fakeRoster) List(context.Context, hub.Principal, enroll.ListRequest) ([]enroll.Entry, error) {
	return nil, nil
}

type fakeAccounts struct{}

func (fakeAccounts) Memberships(context.Context, hub.Principal) ([]hub.Membership, error) {
	return nil, nil
}

func job(id string) (dispatch.JobView, error) {
	return dispatch.JobView{
		Job:     hub.Job{ID: id, State: hub.JobQueued, Owner: "user:usr_1", CreatedAt: time.Unix(0, 0).UTC()},
		Payload: hub.JobPayload{Spec: []byte(`{"image":"x"}`), SubmittedBy: "usr_1"}, Target: "self",
	}, nil
}

// serve starts the tools behind the real front door and returns the URL of /mcp.
func serve(t *testing.T, jobs *fakeJobs) string {
	t.Helper()
	return serveAs(t, jobs, fakeAuth{}) + web.MCPPath
}

func serveAs(t *testing.T, jobs *fakeJobs, auth api.Authenticator) string {
	t.Helper()
	if jobs.get == nil {
		jobs.get = func(_ context.Context, id string) (dispatch.JobView, error) { return job(id) }
	}
	log := slog.New(slog.DiscardHandler)
	services := api.Services{Jobs: jobs, Roster: fakeRoster{}, Accounts: fakeAccounts{}}
	ops := api.Operations(services)
	s := httptest.NewServer(web.New(web.Options{Operations: ops, Auth: auth, MCP: mcpserver.New(ops, api.NewLibrary(services, ops, log), log), Log: log}))
	t.Cleanup(s.Close)
	return s.URL
}
