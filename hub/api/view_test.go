package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/hub/enroll"
	"github.com/runnerhub/runnerhub/mcp"
)

// holds checks a result against the output schema of its operation.
func holds(t *testing.T, name string, result any) {
	t.Helper()
	o := operation(t, api.Services{}, name)
	schema, err := json.Marshal(o.Output)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if err := compileSchema(t, name, schema).Validate(value); err != nil {
		t.Errorf("%s: %v\n%s", name, err, raw)
	}
}

func TestLeaseTravelsWhole(t *testing.T) {
	t.Parallel()
	var asked dispatch.LeaseRequest
	jobs := &fakeJobs{lease: func(r dispatch.LeaseRequest) (dispatch.LeaseResult, error) {
		asked = r
		return dispatch.LeaseResult{HubID: "hub-1", Lease: &dispatch.Lease{
			JobID: "job_1", Owner: "user:usr_1", Proof: hub.Proof{Attempt: 2, Epoch: 3, Nonce: "lse_x"}, TTL: time.Minute, Heartbeat: 15 * time.Second,
			FirstHeartbeat: 15 * time.Second, Deadline: time.Hour, Timeout: 59 * time.Minute, LogLimit: 64, Spec: []byte(`{"image":"x"}`), LogToken: "cap_y",
		}}, nil
	}}
	out, summary, f := call[mcp.LeaseJobResult](t, api.Services{Jobs: jobs}, mcp.ToolLeaseJob, runner,
		`{"request_id":"r","wait_ms":1000,"capabilities":["docker"],"os":"linux","arch":"amd64","protocol":1,"slots":2,"free_slots":1,"draining":true,"status":{"text":"hi","level":"ok"}}`)
	if f != nil {
		t.Fatal(f)
	}
	want := dispatch.LeaseRequest{RequestID: "r", Wait: time.Second, Presence: hub.Presence{
		OS: "linux", Arch: "amd64", Protocol: 1, Capabilities: []string{"docker"}, Slots: 2, FreeSlots: 1, Draining: true, StatusText: "hi", StatusLevel: "ok",
	}}
	if fmt.Sprint(asked) != fmt.Sprint(want) {
		t.Errorf("asked for %+v", asked)
	}
	l := out.Lease
	if l == nil || l.LogURL != "https://hub.example/api/v1/logs/cap_y" || l.Attempt != 2 || l.LeaseEpoch != 3 || l.LeaseToken != "lse_x" ||
		l.TTLMS != 60_000 || l.TimeoutMS != 3_540_000 || string(l.Spec) != `{"image":"x"}` || out.Directives == nil {
		t.Errorf("got %+v", out)
	}
	if !strings.Contains(summary, "job_1") || strings.Contains(summary, "lse_x") {
		t.Errorf("summary is %q", summary)
	}
	holds(t, mcp.ToolLeaseJob, out)
}

func TestSettleHandsTheResultOnAsJSON(t *testing.T) {
	t.Parallel()
	var asked dispatch.SettleRequest
	jobs := &fakeJobs{settle: func(r dispatch.SettleRequest) (dispatch.SettleResult, error) {
		asked = r
		return dispatch.SettleResult{Accepted: true, Requeued: true}, nil
	}}
	exit := 3
	args, err := json.Marshal(mcp.SubmitJobResultArgs{
		LeaseProof: mcp.LeaseProof{JobID: "job_1", Attempt: 1, LeaseEpoch: 1, LeaseToken: "lse_1"},
		Result: mcp.Result{Status: "failed", ExitCode: &exit, Failure: &mcp.Failure{Class: "script", Message: "exit 3"},
			Outputs: map[string]string{"b": "2", "a": "1"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	out, _, f := call[mcp.SettleResult](t, api.Services{Jobs: jobs}, mcp.ToolSubmitJobResult, runner, string(args))
	if f != nil {
		t.Fatal(f)
	}
	var result mcp.Result
	if err := json.Unmarshal(asked.Result, &result); err != nil || *result.ExitCode != 3 {
		t.Errorf("result is %s, %v", asked.Result, err)
	}
	if asked.State != hub.JobFailed || asked.Failure.Class != hub.ClassScript || asked.Proof.Nonce != "lse_1" || !out.Requeued {
		t.Errorf("asked %+v, got %+v", asked, out)
	}
}

func TestResultsOfEmptyThingsHoldTheirSchema(t *testing.T) {
	t.Parallel()
	s := api.Services{
		Jobs: &fakeJobs{
			list: func(dispatch.ListRequest) (dispatch.ListResult, error) { return dispatch.ListResult{}, nil },
			wait: func(dispatch.WaitRequest) (dispatch.WaitResult, error) { return dispatch.WaitResult{}, nil },
			get: func(string) (dispatch.JobView, error) {
				return dispatch.JobView{Payload: hub.JobPayload{Spec: []byte(`{}`)}}, nil
			},
			lease: func(dispatch.LeaseRequest) (dispatch.LeaseResult, error) { return dispatch.LeaseResult{}, nil },
		},
		Roster: &fakeRoster{}, Accounts: fakeAccounts{},
	}
	for name, args := range map[string]string{
		mcp.ToolListJobs: `{}`, mcp.ToolWaitJob: `{"job_id":"job_1"}`, mcp.ToolGetJob: `{"job_id":"job_1"}`,
		mcp.ToolListRunners: `{}`, mcp.ToolWhoami: `{}`,
	} {
		out, _, f := call[any](t, s, name, person, args)
		if f != nil {
			t.Errorf("%s: %v", name, f)
			continue
		}
		holds(t, name, out)
	}
	out, _, f := call[any](t, s, mcp.ToolLeaseJob, runner, `{"request_id":"r","protocol":1}`)
	if f != nil {
		t.Fatal(f)
	}
	holds(t, mcp.ToolLeaseJob, out)
}

func TestJobIsShownWhole(t *testing.T) {
	t.Parallel()
	at := func(s int) time.Time { return now.Add(time.Duration(s) * time.Second) }
	view := dispatch.JobView{
		Job: hub.Job{ID: "job_1", State: hub.JobFailed, Owner: "user:usr_1", Attempt: 1, CreatedAt: at(0), StartedAt: at(1), EndedAt: at(3),
			CancelRequestedAt: at(2), Failure: &hub.Failure{Class: hub.ClassOOM, Message: "killed", Container: "job"}},
		Payload:   hub.JobPayload{Name: "n", SubmittedBy: "usr_1", RetryOf: "job_0", Spec: []byte(`{"image":"x"}`)},
		Workspace: "default", Target: "self", RunnerID: "rnr-1", RunnerLabel: "box",
		Attempts: []hub.Attempt{{Number: 1, State: hub.AttemptFailed, RunnerID: "rnr-1", LeasedAt: at(0)}},
		Result:   []byte(`{"status":"failed","exit_code":137,"usage":{"cpu_ms":1,"memory_peak_bytes":2,"wall_ms":3},"leaks":{"containers":0,"networks":0,"volumes":0},"added_later":1}`),
		LogSize:  99,
	}
	jobs := &fakeJobs{get: func(string) (dispatch.JobView, error) { return view, nil }}
	out, summary, f := call[mcp.GetJobResult](t, api.Services{Jobs: jobs}, mcp.ToolGetJob, person, `{"job_id":"job_1"}`)
	if f != nil {
		t.Fatal(f)
	}
	j := out.Job
	if j.DurationMS != 2000 || j.Canceling || *j.Result.ExitCode != 137 || j.Failure.Class != "oom" || len(j.Attempts) != 1 ||
		j.Attempts[0].StartedAt != nil || string(j.Spec) != `{"image":"x"}` || j.RetryOf != "job_0" || j.LogBytes != 99 {
		t.Errorf("got %+v", j)
	}
	if summary != "job_1: failed: killed. Next: explain_job for why." {
		t.Errorf("summary is %q", summary)
	}
	holds(t, mcp.ToolGetJob, out)
	view.Result = []byte(`{`)
	if _, _, f := call[any](t, api.Services{Jobs: jobs}, mcp.ToolGetJob, person, `{"job_id":"job_1"}`); f == nil || f.Code != mcp.CodeInternal {
		t.Errorf("a damaged result answers %+v", f)
	}
}

func TestLogBytesOfAnyEncoding(t *testing.T) {
	t.Parallel()
	jobs := &fakeJobs{wait: func(dispatch.WaitRequest) (dispatch.WaitResult, error) {
		return dispatch.WaitResult{Lines: []dispatch.LogLine{{Text: []byte("ok\x1b[0m")}, {Text: []byte("a\xffb\xc3")}}, NextCursor: "c"}, nil
	}}
	out, _, f := call[mcp.WaitJobResult](t, api.Services{Jobs: jobs}, mcp.ToolWaitJob, person, `{"job_id":"job_1"}`)
	if f != nil {
		t.Fatal(f)
	}
	if l := out.Lines[0]; l.Text != "ok\x1b[0m" || l.Base64 != "" {
		t.Errorf("text is %+v", l)
	}
	if l := out.Lines[1]; l.Text != "a\uFFFDb\uFFFD" || l.Base64 != "Yf9iww==" {
		t.Errorf("bytes are %+v", l)
	}
}

func TestRosterIsPaged(t *testing.T) {
	t.Parallel()
	roster := &fakeRoster{}
	for i := range 5 {
		roster.runners = append(roster.runners, enroll.Entry{Runner: hub.Runner{ID: fmt.Sprintf("rnr-%d", i), Label: "l"}})
	}
	s := api.Services{Jobs: &fakeJobs{}, Roster: roster}
	var ids []string
	cursor := ""
	for range 10 {
		out, _, f := call[mcp.ListRunnersResult](t, s, mcp.ToolListRunners, person, fmt.Sprintf(`{"limit":2,"cursor":%q}`, cursor))
		if f != nil {
			t.Fatal(f)
		}
		for _, r := range out.Runners {
			ids = append(ids, r.ID)
		}
		if cursor = out.NextCursor; cursor == "" {
			break
		}
	}
	if strings.Join(ids, " ") != "rnr-0 rnr-1 rnr-2 rnr-3 rnr-4" {
		t.Errorf("pages have %v", ids)
	}
	if _, _, f := call[any](t, s, mcp.ToolListRunners, person, `{"cursor":"!"}`); f == nil || f.Code != mcp.CodeInvalidArgument {
		t.Errorf("a foreign cursor answers %+v", f)
	}
}

func TestUnpairTellsTheDispatcher(t *testing.T) {
	t.Parallel()
	jobs := &fakeJobs{}
	out, _, f := call[mcp.UnpairRunnerResult](t, api.Services{Jobs: jobs, Roster: &fakeRoster{}}, mcp.ToolUnpairRunner, runner, ``)
	if f != nil || out.Runner.ID != "rnr-1" || len(jobs.revoked) != 1 {
		t.Fatalf("got %+v, %v; told %v", out, f, jobs.revoked)
	}
}

func TestPairingLinkKeepsTheCodeFromServers(t *testing.T) {
	t.Parallel()
	s := api.Services{Jobs: &fakeJobs{}, Roster: &fakeRoster{}}
	out, _, f := call[mcp.StartPairingResult](t, s, "start_pairing", nobody,
		`{"machine":{"hostname":"h","os":"linux","arch":"amd64","version":"1"},"public_key":"k"}`)
	if f != nil {
		t.Fatal(f)
	}
	if out.VerificationURL != "https://hub.example/pair#code=BCDF-GHJK" || out.ExpiresInMS != 60_000 {
		t.Errorf("got %+v", out)
	}
}
