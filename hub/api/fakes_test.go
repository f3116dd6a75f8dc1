package api_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/hub/enroll"
	"github.com/runnerhub/runnerhub/hub/identity"
	"github.com/runnerhub/runnerhub/mcp"
)

// The table is made for these.
var (
	_ api.Jobs          = (*dispatch.Service)(nil)
	_ api.Roster        = (*enroll.Service)(nil)
	_ api.Accounts      = (*identity.Service)(nil)
	_ api.Authenticator = (*identity.Service)(nil)
)

var (
	now    = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	person = hub.Principal{Kind: hub.KindUser, User: hub.User{ID: "usr_1", Login: "ada"}, KeyName: "laptop"}
	runner = hub.Principal{Kind: hub.KindRunner, Runner: hub.Runner{ID: "rnr-1", Label: "box"}}
	nobody = hub.Principal{Address: "192.0.2.7"}
)

// fakeJobs answers with what a test gives it; a use case that it was given
// nothing for is a nil call, and so a panic.
type fakeJobs struct {
	api.Jobs
	submit  func(dispatch.SubmitRequest) (dispatch.SubmitResult, error)
	lease   func(dispatch.LeaseRequest) (dispatch.LeaseResult, error)
	settle  func(dispatch.SettleRequest) (dispatch.SettleResult, error)
	list    func(dispatch.ListRequest) (dispatch.ListResult, error)
	wait    func(dispatch.WaitRequest) (dispatch.WaitResult, error)
	get     func(string) (dispatch.JobView, error)
	revoked []string
}

func (f *fakeJobs) Submit(_ context.Context, _ hub.Principal, r dispatch.SubmitRequest) (dispatch.SubmitResult, error) {
	return f.submit(r)
}

func (f *fakeJobs) Lease(_ context.Context, _ hub.Principal, r dispatch.LeaseRequest) (dispatch.LeaseResult, error) {
	return f.lease(r)
}

func (f *fakeJobs) Settle(_ context.Context, _ hub.Principal, r dispatch.SettleRequest) (dispatch.SettleResult, error) {
	return f.settle(r)
}

func (f *fakeJobs) List(_ context.Context, _ hub.Principal, r dispatch.ListRequest) (dispatch.ListResult, error) {
	return f.list(r)
}

func (f *fakeJobs) Wait(_ context.Context, _ hub.Principal, r dispatch.WaitRequest) (dispatch.WaitResult, error) {
	return f.wait(r)
}

func (f *fakeJobs) Get(_ context.Context, _ hub.Principal, id string) (dispatch.JobView, error) {
	return f.get(id)
}

func (f *fakeJobs) RunnerRevoked(_ context.Context, r hub.Runner) {
	f.revoked = append(f.revoked, r.ID)
}
func (f *fakeJobs) Fresh(runners ...hub.Runner) []hub.Runner { return runners }
func (f *fakeJobs) HubID(context.Context) (string, error)    { return "hub-1", nil }
func (f *fakeJobs) Policy() hub.Policy                       { return hub.DefaultPolicy() }
func (f *fakeJobs) Now() time.Time                           { return now }

type fakeRoster struct {
	api.Roster
	runners []enroll.Entry
	asked   enroll.ListRequest
}

func (f *fakeRoster) List(_ context.Context, _ hub.Principal, r enroll.ListRequest) ([]enroll.Entry, error) {
	f.asked = r
	var out []enroll.Entry
	for _, e := range f.runners {
		if e.Runner.ID > r.AfterID && len(out) < r.Limit {
			out = append(out, e)
		}
	}
	return out, nil
}

func (f *fakeRoster) Unpair(_ context.Context, p hub.Principal) (hub.Runner, error) {
	return p.Runner, nil
}

func (f *fakeRoster) Start(_ context.Context, r enroll.StartRequest) (enroll.Started, error) {
	return enroll.Started{Pairing: hub.Pairing{ID: "prq_1", Address: r.Address, ExpiresAt: now.Add(time.Minute)}, UserCode: "BCDF-GHJK"}, nil
}

type fakeAccounts struct{ members []hub.Membership }

func (f fakeAccounts) Memberships(context.Context, hub.Principal) ([]hub.Membership, error) {
	return f.members, nil
}

func operation(t *testing.T, s api.Services, name string) api.Operation {
	t.Helper()
	for _, o := range api.Operations(s) {
		if o.Name == name {
			return o
		}
	}
	t.Fatalf("there is no operation %s", name)
	return api.Operation{}
}

// call runs an operation and returns its result as a client would read it.
func call[Out any](t *testing.T, s api.Services, name string, p hub.Principal, args string) (Out, string, *mcp.Error) {
	t.Helper()
	ctx := api.WithBaseURL(t.Context(), "https://hub.example")
	return callIn[Out](ctx, t, s, name, p, args)
}

func callIn[Out any](ctx context.Context, t *testing.T, s api.Services, name string, p hub.Principal, args string) (Out, string, *mcp.Error) {
	t.Helper()
	o := operation(t, s, name)
	value, summary, fault := o.Call(ctx, slog.New(slog.DiscardHandler), p, json.RawMessage(args))
	var out Out
	if fault == nil {
		raw, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &out); err != nil {
			t.Fatal(err)
		}
	}
	return out, summary, fault
}
