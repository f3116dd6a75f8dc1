package web_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/joblog"
)

var update = flag.Bool("update", false, "write testdata/mistakes.txt again")

// mistake is a call of a tool that a model gets wrong. Words in capitals with a dollar sign stand for what the world has.
type mistake struct{ what, tool, args string }

// mistakes are those that models make most, as far as we know: names that are nearly right, types and formats of another
// tool, calls that come too early or too late, and words of other CIs.
var mistakes = []mistake{
	// Names.
	{"a runner's label with a slip", "submit_job", `{"spec":"image: alpine\ncommand: [\"true\"]","target":"lab7"}`},
	{"a workspace's slug as target", "submit_job", `{"spec":"image: alpine\ncommand: [\"true\"]","target":"default"}`},
	{"a workspace that does not exist", "submit_job", `{"spec":"image: alpine\ncommand: [\"true\"]","workspace":"dfault"}`},
	{"a job's name for its id", "wait_job", `{"job_id":"tests"}`},
	{"an id without its prefix", "get_job", `{"job_id":"$BARE"}`},
	{"an id that was cut short", "explain_job", `{"job_id":"$SHORT"}`},
	{"a job of another workspace", "read_job_log", `{"job_id":"$THEIRS"}`},
	{"a tool that does not exist", "run_job", `{}`},
	{"a tool of the runner's", "lease_job", `{}`},
	{"a step with a slip", "read_job_log", `{"job_id":"$FAILED","step":"tests"}`},
	{"a service that is not there", "read_job_log", `{"job_id":"$FAILED","service":"db"}`},
	{"a file with a slip", "read_artifact", `{"job_id":"$FAILED","path":"junit.xml"}`},
	{"a batch's id for a job's", "wait_jobs", `{"batch_id":"$FAILED"}`},
	{"a runner that does not exist", "revoke_runner", `{"runner_id":"lab-8"}`},
	// Arguments.
	{"a cursor of another job", "wait_job", `{"job_id":"$QUEUED","cursor":"$CURSOR"}`},
	{"an argument with a slip", "wait_job", `{"jobId":"$FAILED"}`},
	{"text for a number", "wait_job", `{"job_id":"$FAILED","wait_ms":"5000"}`},
	{"a wait that is too long", "wait_job", `{"job_id":"$FAILED","wait_ms":600000}`},
	{"a list as text", "exec_in_job", `{"job_id":"$FAILED","command":"ls -l"}`},
	{"a word of another tool", "list_jobs", `{"state":"completed"}`},
	{"no spec", "submit_job", `{"image":"alpine","command":["true"]}`},
	{"a cursor of another tool", "wait_job", `{"job_id":"$FAILED","cursor":"abc"}`},
	{"an expression that is not RE2", "read_job_log", `{"job_id":"$FAILED","grep":"(?<=x)y"}`},
	{"an attempt that was not made", "read_job_log", `{"job_id":"$FAILED","attempt":2}`},
	// Specs.
	{"an unknown field with a slip", "submit_job", `{"spec":{"imgae":"alpine","command":["true"]}}`},
	{"fields of GitHub Actions", "submit_job", `{"spec":"on: push\nruns-on: ubuntu-latest\nsteps:\n- uses: actions/checkout@v4\n- run: make\n"}`},
	{"fields of GitLab CI", "submit_job", `{"spec":"image: alpine\nscript:\n- make test\n"}`},
	{"nothing to run it in", "submit_job", `{"spec":"steps: [{run: make}]"}`},
	{"steps and a command", "submit_job", `{"spec":"image: alpine\ncommand: [\"true\"]\nsteps: [{run: make}]"}`},
	{"steps as plain text", "submit_job", `{"spec":{"image":"alpine","steps":["make","make test"]}}`},
	{"an image that is none", "submit_job", `{"spec":{"image":"My Image:latest","command":["true"]}}`},
	{"a duration without a unit", "submit_job", `{"spec":{"image":"alpine","command":["true"],"timeout":30}}`},
	{"memory in words", "submit_job", `{"spec":{"image":"alpine","command":["true"],"resources":{"memory":"4 gigabytes"}}}`},
	{"YAML with a tab", "submit_job", `{"spec":"image: alpine\nsteps:\n\t- run: make\n"}`},
	{"YAML in a code fence", "submit_job", "{\"spec\":\"```yaml\\nimage: alpine\\n```\"}"},
	{"a key for another job", "submit_job", `{"spec":"image: alpine\ncommand: [\"false\"]","idempotency_key":"once"}`},
	{"files of a source that is not there", "submit_job", `{"spec":{"image":"alpine","compose":"compose.yaml","command":["true"]}}`},
	{"one wrong entry of many", "submit_jobs", `{"spec":{"image":"alpine"},"matrix":[{"command":["a"]},{"cmd":["b"]}]}`},
	{"changes as a list", "retry_job", `{"job_id":"$FAILED","changes":"- image: alpine"}`},
	// Too early, too late.
	{"the log of a job that waits", "read_job_log", `{"job_id":"$QUEUED"}`},
	{"the files of a job that waits", "list_artifacts", `{"job_id":"$QUEUED"}`},
	{"waiting for a job that has ended", "wait_job", `{"job_id":"$FAILED"}`},
	{"ending a job that has ended", "cancel_job", `{"job_id":"$FAILED"}`},
	{"running again what has not ended", "retry_job", `{"job_id":"$QUEUED"}`},
	{"a command in a job that waits", "exec_in_job", `{"job_id":"$QUEUED","command":["ls"]}`},
	{"a command in a job that has ended", "exec_in_job", `{"job_id":"$FAILED","command":["ls"]}`},
	{"letting go of what is not held", "end_hold", `{"job_id":"$QUEUED"}`},
	// Rights.
	{"pairing for a workspace as a member", "pair_workspace_runner", `{"workspace":"default"}`},
}

// TestMistakes holds what a model reads after a mistake: what was wrong, what would be right, and what to call.
func TestMistakes(t *testing.T) {
	t.Parallel()
	w := mistakenWorld(t)
	var got strings.Builder
	for _, m := range mistakes {
		fmt.Fprintf(&got, "# %s\n%s %s\n%s\n\n", m.what, m.tool, m.args, w.call(t, m))
	}
	const file = "testdata/mistakes.txt"
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("what is told after a mistake has changed (-pinned +now); if it is meant to, run: go test ./hub/web -run Mistakes -update\n%s", diff)
	}
}

// muddle is a hub with a member's jobs: one that waits, one that has failed and left a file, and one of somebody else's.
type muddle struct {
	h     *realHub
	key   string
	words []string // in pairs: a name of mistakes, what it stands for
}

func mistakenWorld(t *testing.T) *muddle {
	t.Helper()
	ctx := t.Context()
	h := startHub(t)
	stranger := h.client(t, h.stranger(t))
	if _, err := h.accounts.CreateWorkspace(ctx, "theirs"); err != nil {
		t.Fatal(err)
	}
	if err := h.accounts.AddMember(ctx, "theirs", "eve", hub.RoleMember); err != nil {
		t.Fatal(err)
	}
	if _, err := h.accounts.CreateUser(ctx, "ada", false); err != nil {
		t.Fatal(err)
	}
	if err := h.accounts.AddMember(ctx, "default", "ada", hub.RoleMember); err != nil {
		t.Fatal(err)
	}
	key, _, err := h.accounts.CreateKey(ctx, "ada", "agent", 0, hub.KeyScope{})
	if err != nil {
		t.Fatal(err)
	}
	ada := h.client(t, key)
	theirs := must[mcp.SubmitJobResult](t)(stranger.SubmitJob(ctx, mcp.SubmitJobArgs{JobRequest: mcp.JobRequest{Spec: json.RawMessage(`{"image":"alpine"}`)}}))
	spec := json.RawMessage(`{"name":"tests","image":"alpine","steps":[{"name":"build","run":"make"},{"name":"test","run":"make test"}]}`)
	failed := must[mcp.SubmitJobResult](t)(ada.SubmitJob(ctx, mcp.SubmitJobArgs{JobRequest: mcp.JobRequest{Spec: spec}, IdempotencyKey: "once"})).Job.ID
	h.fail(t, key, failed)
	queued := must[mcp.SubmitJobResult](t)(ada.SubmitJob(ctx, mcp.SubmitJobArgs{JobRequest: mcp.JobRequest{
		Spec: spec, JobPlacement: mcp.JobPlacement{Target: "workspace"},
	}})).Job.ID
	cursor := must[mcp.WaitJobResult](t)(ada.WaitJob(ctx, mcp.WaitJobArgs{JobID: failed})).NextCursor
	return &muddle{h: h, key: key, words: []string{
		"$CURSOR", cursor,
		"$FAILED", failed, "$QUEUED", queued, "$THEIRS", theirs.Job.ID, "$BARE", strings.TrimPrefix(failed, "job_"), "$SHORT", failed[:12],
	}}
}

// fail runs a job of a person's as their runner does, up to its failure.
func (h *realHub) fail(t *testing.T, key, jobID string) {
	t.Helper()
	ctx := t.Context()
	runner := h.client(t, h.pairAs(t, key))
	lease := must[mcp.LeaseJobResult](t)(runner.LeaseJob(ctx, mcp.LeaseJobArgs{
		RequestID: "r", WaitMS: 25_000, Protocol: mcp.Protocol, Capabilities: []string{"docker"}, OS: "linux", Arch: "amd64", Slots: 1, FreeSlots: 1,
	})).Lease
	if lease == nil || lease.JobID != jobID {
		t.Fatalf("leased %+v", lease)
	}
	proof := mcp.LeaseProof{JobID: lease.JobID, Attempt: lease.Attempt, LeaseEpoch: lease.LeaseEpoch, LeaseToken: lease.LeaseToken}
	must[mcp.HeartbeatJobResult](t)(runner.HeartbeatJob(ctx, mcp.HeartbeatJobArgs{LeaseProof: proof, Phase: "running", Step: "test"}))
	var log []byte
	for _, text := range []string{"ok  \ta\t0.01s", "--- FAIL: TestAdd (0.00s)", "    add_test.go:9: 3, want 4"} {
		log = joblog.Append(log, joblog.Record{Time: time.Unix(1_800_000_000, 0).UTC(), Stream: joblog.Stdout, Source: joblog.Source{Job: true, Step: "test"}, Payload: []byte(text)})
	}
	must[mcp.PutLogResult](t)(runner.PutLog(ctx, lease.LogURL, 0, log))
	const file = "<testsuites/>"
	sum := sha256.Sum256([]byte(file))
	ticket := must[mcp.UploadTicket](t)(runner.UploadArtifact(ctx, mcp.UploadArtifactArgs{
		LeaseProof: proof, Name: "junit", Path: "out/junit.xml", Size: int64(len(file)), SHA256: hex.EncodeToString(sum[:]),
	}))
	if err := runner.Upload(ctx, ticket, strings.NewReader(file), int64(len(file)), nil); err != nil {
		t.Fatal(err)
	}
	exit := 1
	must[mcp.ReportResult](t)(runner.SubmitJobResult(ctx, mcp.SubmitJobResultArgs{LeaseProof: proof, Result: mcp.Result{
		Status: "failed", ExitCode: &exit, LogBytes: int64(len(log)), Failure: &mcp.Failure{Class: "script", Message: "step 2/2 (test) exited with code 1"},
		Steps: []mcp.StepResult{{Name: "build", Status: "succeeded"}, {Name: "test", Status: "failed", ExitCode: &exit}},
	}}))
}

// call answers the text that a model reads, with names for what differs from run to run.
func (w *muddle) call(t *testing.T, m mistake) string {
	t.Helper()
	args := strings.NewReplacer(w.words...).Replace(m.args)
	message := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, m.tool, args)
	got := (&door{url: w.h.url}).send(t, http.MethodPost, "/mcp", w.key, message)
	var answer struct {
		Result struct {
			Content []struct{ Text string }
		}
		Error *struct {
			Code    int
			Message string
		}
	}
	if err := json.Unmarshal([]byte(got.body), &answer); err != nil {
		t.Fatalf("%s: %d %s", m.what, got.status, got.body)
	}
	text := ""
	switch {
	case answer.Error != nil:
		text = fmt.Sprintf("error %d: %s", answer.Error.Code, answer.Error.Message)
	case len(answer.Result.Content) > 0:
		text = answer.Result.Content[0].Text
	}
	// What was cut from an id comes last: ids hold it.
	for i := 0; i < len(w.words); i += 2 {
		if w.words[i] == "$SHORT" {
			text = otherIDs.ReplaceAllString(text, "$1…")
		}
		text = strings.ReplaceAll(text, w.words[i+1], w.words[i])
	}
	return strings.TrimSpace(text)
}

var otherIDs = regexp.MustCompile(`\b(rnr-|job_|usr_|wsp_|cur_|run-)[0-9a-f]{8}-[0-9a-f-]{27}`)
