package web_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/hub/blobstore"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/hub/enroll"
	"github.com/runnerhub/runnerhub/hub/identity"
	"github.com/runnerhub/runnerhub/hub/sqlite"
	"github.com/runnerhub/runnerhub/hub/web"
	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/joblog"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
	"github.com/runnerhub/runnerhub/mcp/mcpserver"
	"github.com/runnerhub/runnerhub/pairing"
)

// realHub is everything but the process: real use cases over a real store.
type realHub struct {
	url      string
	admin    string // API key
	accounts *identity.Service
	jobs     *dispatch.Service
	drain    func()
	log      *syncBuffer
}

func startHub(t *testing.T) *realHub {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	dir := t.TempDir()
	store, err := sqlite.Open(ctx, filepath.Join(dir, "hub.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	bucket, err := blobstore.Open(ctx, filepath.Join(dir, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	h := &realHub{log: &syncBuffer{}}
	log := slog.New(slog.NewTextHandler(h.log, nil))
	drain := make(chan struct{})
	jobs := dispatch.New(dispatch.Config{Store: store, Bucket: bucket, Policy: hub.DefaultPolicy(), Logger: log})
	h.drain = sync.OnceFunc(func() {
		close(drain)
		jobs.Drain()
	})
	h.jobs = jobs
	h.accounts = identity.New(store, jobs.Now)
	roster := enroll.New(store, jobs.Now, hub.DefaultPolicy(), drain)
	h.admin = pairing.New(pairing.APIKey)
	if _, err := h.accounts.Bootstrap(ctx, h.admin); err != nil {
		t.Fatal(err)
	}
	services := api.Services{Jobs: jobs, Roster: roster, Accounts: h.accounts}
	ops := api.Operations(services)
	s := httptest.NewUnstartedServer(nil)
	s.Config = web.NewServer(web.New(web.Options{
		Operations: ops, Auth: h.accounts, MCP: mcpserver.New(ops, api.NewLibrary(services, ops, log), log), Logs: jobs, Uploads: jobs, Files: jobs, Execs: jobs, Log: log, Ready: store.Ping, Drain: drain,
	}), log)
	s.Start()
	h.url = s.URL
	ran := make(chan error, 1)
	go func() { ran <- jobs.Run(ctx) }()
	t.Cleanup(func() {
		h.drain()
		s.Close()
		cancel()
		if err := <-ran; err != nil {
			t.Errorf("dispatch: %v", err)
		}
		_ = bucket.Close()
		_ = store.Close()
	})
	return h
}

func (h *realHub) client(t *testing.T, token string) *mcpclient.Client {
	t.Helper()
	c, err := mcpclient.New(mcpclient.Config{URL: h.url, Token: func() string { return token }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// pair brings a machine in as runnerctl does: code, approval, redemption.
func (h *realHub) pair(t *testing.T) (token string) {
	t.Helper()
	return h.pairAs(t, h.admin)
}

// pairAs is pair for whom an API key belongs to.
func (h *realHub) pairAs(t *testing.T, key string) (token string) {
	t.Helper()
	public, private := pairing.NewKey()
	machine := mcp.Machine{Hostname: "lab-7", OS: "linux", Arch: "amd64", Version: "1"}
	stranger, admin := h.client(t, ""), h.client(t, key)
	started := must[mcp.StartPairingResult](t)(stranger.StartPairing(t.Context(), mcp.StartPairingArgs{Machine: machine, PublicKey: public}))
	view := must[mcp.PairingView](t)(admin.ViewPairing(t.Context(), strings.ToLower(started.UserCode)))
	if view.Fingerprint != started.Fingerprint || view.State != mcp.PairingPending || view.Machine != machine || view.Address != "127.0.0.1" {
		t.Errorf("the person sees %+v", view)
	}
	must[mcp.PairingView](t)(admin.DecidePairing(t.Context(), mcp.DecidePairingArgs{UserCode: started.UserCode, Approve: true}))
	redeemed := must[mcp.RedeemPairingResult](t)(stranger.RedeemPairing(t.Context(), mcp.RedeemPairingArgs{
		PairingID: started.PairingID, Machine: machine, PublicKey: public, Signature: pairing.Sign(private, mcp.RedeemMessage(started.PairingID)),
	}))
	if redeemed.State != mcp.PairingRedeemed || redeemed.Token == "" {
		t.Fatalf("redeemed: %+v", redeemed)
	}
	return redeemed.Token
}

// The whole way of a job, over MCP and HTTP as they are served.
func TestJobFromPairingToResult(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	ctx := t.Context()
	token := h.pair(t)
	runner, admin := h.client(t, token), h.client(t, h.admin)

	leased := make(chan mcp.LeaseJobResult, 1)
	go func() {
		got, err := runner.LeaseJob(ctx, mcp.LeaseJobArgs{
			RequestID: "r-1", WaitMS: 25_000, Protocol: mcp.Protocol, Capabilities: []string{"docker"}, OS: "linux", Arch: "amd64", Slots: 1, FreeSlots: 1,
		})
		if err != nil {
			t.Error(err)
		}
		leased <- got
	}()
	spec := "image: alpine\nsteps:\n- name: hello\n  run: echo hello\n"
	submitted := must[mcp.SubmitJobResult](t)(admin.SubmitJob(ctx, mcp.SubmitJobArgs{JobRequest: mcp.JobRequest{Spec: []byte(`"` + strings.ReplaceAll(spec, "\n", `\n`) + `"`)}}))
	lease := (<-leased).Lease
	if lease == nil || lease.JobID != submitted.Job.ID {
		t.Fatalf("leased %+v for %s", lease, submitted.Job.ID)
	}
	proof := mcp.LeaseProof{JobID: lease.JobID, Attempt: lease.Attempt, LeaseEpoch: lease.LeaseEpoch, LeaseToken: lease.LeaseToken}
	must[mcp.HeartbeatJobResult](t)(runner.HeartbeatJob(ctx, mcp.HeartbeatJobArgs{LeaseProof: proof, Phase: "running", Step: "hello"}))
	line := joblog.Append(nil, joblog.Record{Time: time.Now().UTC(), Stream: joblog.Stdout, Source: joblog.Source{Job: true, Step: "hello"}, Payload: []byte("hello")})
	must[mcp.PutLogResult](t)(runner.PutLog(ctx, lease.LogURL, 0, line))
	second := must[mcp.SubmitJobResult](t)(admin.SubmitJob(ctx, mcp.SubmitJobArgs{JobRequest: mcp.JobRequest{Spec: []byte(`{"image": "alpine", "command": ["true"]}`)}}))
	exit := 0
	report := mcp.SubmitJobResultArgs{
		LeaseProof: proof, Result: mcp.Result{Status: "succeeded", ExitCode: &exit, LogBytes: int64(len(line))},
		NextLease: &mcp.LeaseJobArgs{
			RequestID: "r-2", WaitMS: 25_000, Protocol: mcp.Protocol, Capabilities: []string{"docker"}, OS: "linux", Arch: "amd64", Slots: 1, FreeSlots: 1,
		},
	}
	settled := must[mcp.ReportResult](t)(runner.SubmitJobResult(ctx, report))
	if !settled.Accepted || settled.Duplicate || settled.Next == nil || settled.Next.Lease == nil || settled.Next.Lease.JobID != second.Job.ID {
		t.Errorf("settled: %+v", settled)
	}
	again := must[mcp.ReportResult](t)(runner.SubmitJobResult(ctx, report)) // its answer was lost: both halves are the same again
	if !again.Accepted || !again.Duplicate || again.Next == nil || again.Next.Lease.LeaseToken != settled.Next.Lease.LeaseToken {
		t.Errorf("again: %+v", again)
	}
	stale := report
	stale.LeaseToken += "x"
	if _, err := runner.SubmitJobResult(ctx, stale); err == nil {
		t.Error("a report without its lease was taken")
	}
	end := must[mcp.WaitJobResult](t)(admin.WaitJob(ctx, mcp.WaitJobArgs{JobID: lease.JobID, Cursor: "start", WaitMS: 5000, Follow: "end"}))
	if !end.Done || end.State != "succeeded" || *end.ExitCode != 0 || len(end.Lines) != 1 || end.Lines[0].Text != "hello" || end.Lines[0].Step != "hello" {
		t.Errorf("the end is %+v", end)
	}
	got := must[mcp.GetJobResult](t)(admin.GetJob(ctx, mcp.JobRef{JobID: lease.JobID}))
	if got.Job.RunnerLabel != "lab-7" || len(got.Job.Attempts) != 1 || !strings.Contains(string(got.Job.Spec), "echo hello") {
		t.Errorf("the job is %+v", got.Job)
	}
	why := must[mcp.ExplainJobResult](t)(admin.ExplainJob(ctx, mcp.JobRef{JobID: lease.JobID}))
	if why.Summary == "" || len(why.Timeline) < 3 {
		t.Errorf("explained: %+v", why)
	}
	who := must[mcp.WhoamiResult](t)(admin.Whoami(ctx))
	if who.Login != "admin" || who.RunnersOnline != 1 || len(who.Workspaces) != 1 {
		t.Errorf("whoami: %+v", who)
	}
	for _, secret := range []string{token, h.admin, lease.LeaseToken, lease.LogURL[strings.LastIndex(lease.LogURL, "/")+1:]} {
		if strings.Contains(h.log.String(), secret) {
			t.Errorf("the log has %s…", secret[:8])
		}
	}
}

// Mistyped, unknown, expired and revoked tokens are told apart, over both ways in.
func TestBadTokensAreToldApart(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	ctx := t.Context()
	expiring, _, err := h.accounts.CreateKey(ctx, "admin", "short", time.Nanosecond, hub.KeyScope{})
	if err != nil {
		t.Fatal(err)
	}
	revoked, key, err := h.accounts.CreateKey(ctx, "admin", "gone", 0, hub.KeyScope{})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.accounts.RevokeKey(ctx, key.ID); err != nil {
		t.Fatal(err)
	}
	paired := h.pair(t)
	must[mcp.UnpairRunnerResult](t)(h.client(t, paired).UnpairRunner(ctx))
	typo := []byte(h.admin)
	if typo[5]++; h.admin[5] != '0' {
		typo[5] = '0'
	}
	d := &door{url: h.url}
	for name, tc := range map[string]struct{ token, want string }{
		"mistyped": {string(typo), "mistyped"},
		"unknown":  {pairing.New(pairing.APIKey), "no user of this hub"},
		"expired":  {expiring, "expired"},
		"revoked":  {revoked, "revoked"},
		"unpaired": {paired, "unpaired"},
		"other":    {pairing.New(pairing.PairingToken), "does not sign in"},
		"foreign":  {"ghp_abc", "not a token"},
	} {
		for _, at := range []struct{ method, path, body string }{{"GET", "/api/v1/whoami", ""}, {"POST", "/mcp", initialize}} {
			got := d.send(t, at.method, at.path, tc.token, at.body)
			if e := got.fault(t); got.status != 401 || e.Code != mcp.CodeUnauthenticated || !strings.Contains(e.Message, tc.want) || e.Hint == "" {
				t.Errorf("%s at %s: %d %s", name, at.path, got.status, got.body)
			}
		}
	}
}

func TestDrainAnswersHeldCallsAtOnce(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	ctx := t.Context()
	runner, admin := h.client(t, h.pair(t)).WithRetry(mcpclient.NoRetry), h.client(t, h.admin)
	done := make(chan error, 1)
	go func() {
		_, err := runner.LeaseJob(ctx, mcp.LeaseJobArgs{RequestID: "r", WaitMS: 25_000, Protocol: mcp.Protocol, OS: "linux", Slots: 1, FreeSlots: 1})
		done <- err
	}()
	for { // until the hub has heard of the runner
		list := must[mcp.ListRunnersResult](t)(admin.ListRunners(ctx, mcp.ListRunnersArgs{}))
		if list.Runners[0].LastSeenAt != nil {
			break
		}
	}
	h.drain()
	if e, ok := errors.AsType[*mcp.Error](<-done); !ok || e.Code != mcp.CodeDraining || !e.Retryable {
		t.Errorf("the held call answers %v", e)
	}
	d := &door{url: h.url}
	if got := d.send(t, "GET", "/readyz", "", ""); got.status != 503 || !got.closes {
		t.Errorf("readyz answers %d, and keeps the connection: %v", got.status, !got.closes)
	}
}
