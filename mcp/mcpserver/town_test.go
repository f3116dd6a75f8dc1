package mcpserver_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/hub/enroll"
	"github.com/runnerhub/runnerhub/hub/identity"
	"github.com/runnerhub/runnerhub/hub/memory"
	"github.com/runnerhub/runnerhub/hub/storetest"
	"github.com/runnerhub/runnerhub/hub/web"
	"github.com/runnerhub/runnerhub/mcp/joblog"
	"github.com/runnerhub/runnerhub/mcp/mcpserver"
)

// town is a hub of real use cases over a store in memory, with two people who share nothing, and a machine of the first one's.
type town struct {
	testing.TB
	store  *memory.Store
	bucket *memory.Bucket
	who    townsfolk
	jobs   *dispatch.Service
	url    string
}

// The tokens of a town.
const (
	adaToken     = "ak_ada"
	bobToken     = "ak_bob"
	machineToken = "rnr_ada"
)

// townsfolk are its principals by token.
type townsfolk map[string]hub.Principal

func (f townsfolk) Authenticate(_ context.Context, token, _ string) (hub.Principal, error) {
	if p, ok := f[token]; ok {
		return p, nil
	}
	return hub.Principal{}, hub.Errorf(hub.Unauthenticated, "unknown token")
}

func newTown(t testing.TB) *town {
	t.Helper()
	w := &town{TB: t, store: memory.New(), bucket: memory.NewBucket(), who: townsfolk{}}
	for _, token := range []string{adaToken, bobToken} {
		u, ws := storetest.NewUser(), storetest.NewWorkspace()
		w.must(w.store.CreateUser(t.Context(), u, storetest.NewEvent(hub.ActUserCreated)))
		w.must(w.store.CreateWorkspace(t.Context(), ws, storetest.NewEvent(hub.ActWorkspaceCreated)))
		w.must(w.store.PutMember(t.Context(), hub.Membership{Workspace: ws, UserID: u.ID, Role: hub.RoleMember}, storetest.NewEvent(hub.ActMemberAdded)))
		w.who[token] = hub.Principal{Kind: hub.KindUser, User: u, Address: "127.0.0.1"}
	}
	r := storetest.NewRunner(hub.UserOwner(w.who[adaToken].User.ID))
	r.Label = "adas-box"
	storetest.AddRunner(t, w.store, r)
	w.who[machineToken] = hub.Principal{Kind: hub.KindRunner, Runner: r, Secret: hub.Secret("secret"), Address: "127.0.0.1"}
	w.jobs, w.url = w.hub()
	return w
}

// hub starts a hub on the town's store, which may have others.
func (w *town) hub() (*dispatch.Service, string) {
	w.Helper()
	log := slog.New(slog.DiscardHandler)
	jobs := dispatch.New(dispatch.Config{Store: w.store, Bucket: w.bucket, Policy: hub.DefaultPolicy(), Logger: log})
	drain := make(chan struct{})
	services := api.Services{
		Jobs: jobs, Roster: enroll.New(w.store, jobs.Now, hub.DefaultPolicy(), drain), Accounts: identity.New(w.store, jobs.Now),
	}
	ops := api.Operations(services)
	s := httptest.NewServer(web.New(web.Options{
		Operations: ops, Auth: w.who, MCP: mcpserver.New(ops, api.NewLibrary(services, ops, log), log), Log: log, Drain: drain,
	}))
	w.Cleanup(func() {
		jobs.Drain()
		s.Close()
	})
	return jobs, s.URL + web.MCPPath
}

func (w *town) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// submit stores a job of a person's.
func (w *town) submit(token, spec string) string {
	w.Helper()
	got, err := w.jobs.Submit(w.Context(), w.who[token], dispatch.SubmitRequest{JobRequest: dispatch.JobRequest{Spec: []byte(spec)}})
	w.must(err)
	return got.Job.Job.ID
}

// attempt is a job in the machine's hands.
type attempt struct {
	*town
	*dispatch.Lease
	logged int64
}

// take leases the next job, which must be there, and acknowledges it.
func (w *town) take() *attempt {
	w.Helper()
	got, err := w.jobs.Lease(w.Context(), w.who[machineToken], dispatch.LeaseRequest{
		RequestID: storetest.NewID("r-"), Presence: hub.Presence{OS: "linux", Arch: "amd64", Protocol: 1, Capabilities: []string{"docker", "linux", "amd64"}, Slots: 1, FreeSlots: 1},
	})
	w.must(err)
	if got.Lease == nil {
		w.Fatal("there is no job to take")
	}
	a := &attempt{town: w, Lease: got.Lease}
	a.step("running", "")
	return a
}

// step is a heartbeat.
func (a *attempt) step(phase, name string) {
	a.Helper()
	_, err := a.jobs.Heartbeat(a.Context(), a.who[machineToken], dispatch.HeartbeatRequest{JobID: a.JobID, Proof: a.Proof, Phase: phase, Step: name})
	a.must(err)
}

// write adds lines to the log.
func (a *attempt) write(step string, lines ...string) {
	a.Helper()
	var data []byte
	for _, l := range lines {
		data = joblog.Append(data, joblog.Record{Time: time.Now().UTC(), Stream: joblog.Stdout, Source: joblog.Source{Job: true, Step: step}, Payload: []byte(l)})
	}
	next, err := a.jobs.AppendLog(a.Context(), hub.Digest(a.LogToken), a.logged, data)
	a.must(err)
	a.logged = next
}

// leave uploads an artifact.
func (a *attempt) leave(path string, data []byte) {
	a.Helper()
	digest := sha256.Sum256(data)
	ticket, err := a.jobs.UploadArtifact(a.Context(), a.who[machineToken], dispatch.ArtifactRequest{
		JobID: a.JobID, Proof: a.Proof, File: hub.ArtifactFile{Name: "out", Path: path}, Size: int64(len(data)), Digest: digest[:],
	})
	a.must(err)
	if ticket.Blob == nil {
		_, err = a.jobs.WriteUpload(a.Context(), hub.Digest(ticket.Token), 0, int64(len(data)), bytes.NewReader(data))
		a.must(err)
	}
}

// end reports how the attempt ended; class is that of a failure, or empty.
func (a *attempt) end(class hub.Class) {
	a.Helper()
	r := dispatch.SettleRequest{
		JobID: a.JobID, Proof: a.Proof, State: hub.JobSucceeded, Result: fmt.Appendf(nil, `{"status":"succeeded","exit_code":0,"log_bytes":%d}`, a.logged),
	}
	if class != "" {
		r.State, r.Failure = hub.JobFailed, &hub.Failure{Class: class, Message: "the step test has failed"}
		r.Result = fmt.Appendf(nil, `{"status":"failed","exit_code":1,"log_bytes":%d,"failure":{"class":%q,"message":"the step test has failed"}}`, a.logged, class)
	}
	_, err := a.jobs.Settle(a.Context(), a.who[machineToken], r)
	a.must(err)
}

// sdkEras are the revisions that the official SDK's client speaks to a hub: the newest, and the last with a handshake.
var sdkEras = []string{"2026-07-28", "2025-11-25"}

// official connects the official SDK's client.
func official(t testing.TB, url, token, era string, options *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, options)
	session, err := c.Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint:             url,
		HTTPClient:           &http.Client{Transport: bearerTransport{token, &http.Transport{DisableKeepAlives: true}}},
		DisableStandaloneSSE: true,
	}, &sdk.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// ask sends one request of an era as somebody, and reads the answer's result or error into out.
func (w *town) ask(token, era, method string, params map[string]any, out any) (status int) {
	w.Helper()
	header := map[string]string{"Authorization": "Bearer " + token, "Mcp-Protocol-Version": era}
	if era >= "2026-07-28" {
		meta, _ := params["_meta"].(map[string]any)
		if meta == nil {
			meta = map[string]any{}
		}
		meta["io.modelcontextprotocol/protocolVersion"] = era
		if meta["io.modelcontextprotocol/clientCapabilities"] == nil {
			meta["io.modelcontextprotocol/clientCapabilities"] = map[string]any{}
		}
		params["_meta"] = meta
		header["Mcp-Method"] = method
		for _, name := range []string{"name", "uri", "taskId"} {
			if text, ok := params[name].(string); ok && header["Mcp-Name"] == "" {
				header["Mcp-Name"] = text
			}
		}
	}
	message, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": "one", "method": method, "params": params})
	w.must(err)
	status, body := post(w.TB, w.url, header, string(message))
	var answer struct {
		ID     string          `json:"id"`
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.ID != "one" {
		w.Fatalf("%s answers %d %s", method, status, body)
	}
	raw := answer.Result
	if raw == nil {
		raw = answer.Error
	}
	w.must(json.Unmarshal(raw, out))
	return status
}
