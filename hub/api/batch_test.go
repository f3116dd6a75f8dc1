package api_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/mcp"
)

// batches is the hub's side of the tools for batches.
type batches struct {
	fakeJobs
	asked  dispatch.BatchRequest
	stored dispatch.BatchResult
	view   dispatch.BatchView
}

func (b *batches) SubmitBatch(_ context.Context, _ hub.Principal, r dispatch.BatchRequest) (dispatch.BatchResult, error) {
	b.asked = r
	return b.stored, nil
}

func (b *batches) WaitBatch(context.Context, hub.Principal, dispatch.WaitBatchRequest) (dispatch.BatchView, error) {
	return b.view, nil
}

func jobsInStates(states ...hub.JobState) []hub.QueuedJob {
	var out []hub.QueuedJob
	for i, s := range states {
		q := hub.QueuedJob{Job: hub.Job{ID: fmt.Sprintf("job_%d", i), State: s}, Payload: hub.JobPayload{Name: fmt.Sprintf("n%d", i)}}
		if s == hub.JobFailed {
			q.Job.Failure = &hub.Failure{Class: hub.ClassScript, Message: "step 2/3 (test) exited with code 1\nand more"}
		}
		out = append(out, q)
	}
	return out
}

func TestSubmitJobsTakesTextAndObjects(t *testing.T) {
	t.Parallel()
	b := &batches{stored: dispatch.BatchResult{ID: "bat_1", Key: "bat_1", Jobs: jobsInStates(hub.JobQueued, hub.JobLeased)}}
	args := `{"spec":"image: a\n","matrix":[{"name":"x"},"name: y\n"],"target":"self","idempotency_key":"k"}`
	out, text, f := call[mcp.SubmitJobsResult](t, api.Services{Jobs: b}, mcp.ToolSubmitJobs, person, args)
	if f != nil {
		t.Fatal(f)
	}
	holds(t, mcp.ToolSubmitJobs, out)
	want := dispatch.BatchRequest{
		JobRequest: dispatch.JobRequest{Spec: []byte("image: a\n"), Target: "self"},
		Matrix:     [][]byte{[]byte(`{"name":"x"}`), []byte("name: y\n")}, IdempotencyKey: "k",
	}
	if diff := cmp.Diff(want, b.asked); diff != "" {
		t.Error(diff)
	}
	if want := "bat_1: 2 jobs stored. Next: wait_jobs with the batch_id."; text != want {
		t.Errorf("%q, want %q", text, want)
	}
	b.stored.Err = hub.Errorf(hub.QueueFull, "5 jobs wait already").WithHint("wait until some have run")
	out, text, _ = call[mcp.SubmitJobsResult](t, api.Services{Jobs: b}, mcp.ToolSubmitJobs, person, args)
	holds(t, mcp.ToolSubmitJobs, out)
	if out.Stopped == nil || out.RetryKey != "bat_1" || !strings.Contains(text, "Then it stopped: 5 jobs wait already (wait until some have run). Repeat the call with idempotency_key bat_1 to store the rest.") {
		t.Errorf("%+v\n%s", out.Stopped, text)
	}
	b.stored.Err = errors.New("password in here")
	if _, text, _ = call[mcp.SubmitJobsResult](t, api.Services{Jobs: b}, mcp.ToolSubmitJobs, person, args); strings.Contains(text, "password") {
		t.Errorf("tells an internal error: %s", text)
	}
}

func TestWaitJobsNamesWhatFailed(t *testing.T) {
	t.Parallel()
	b := &batches{view: dispatch.BatchView{ID: "bat_1", Jobs: jobsInStates(hub.JobSucceeded, hub.JobFailed, hub.JobCanceled, hub.JobRunning, hub.JobQueued, hub.JobSucceeded)}}
	out, text, f := call[mcp.BatchResult](t, api.Services{Jobs: b}, mcp.ToolWaitJobs, person, `{"batch_id":"bat_1"}`)
	if f != nil {
		t.Fatal(f)
	}
	holds(t, mcp.ToolWaitJobs, out)
	want := "bat_1: 6 jobs: 1 queued, 1 running, 2 succeeded, 1 failed, 1 canceled.\n" +
		"matrix[1] job_1 \"n1\" script: step 2/3 (test) exited with code 1\n" +
		"Next: explain_job for why one failed, wait_jobs again for the rest, cancel_jobs to end the rest."
	if text != want {
		t.Errorf("%q, want %q", text, want)
	}
	if len(out.Failed) != 1 || len(out.Active) != 2 || out.Active[0].Index != 3 {
		t.Errorf("%+v", out)
	}
	b.view.Jobs = jobsInStates(hub.JobCanceled, hub.JobRunning)
	b.view.Jobs[1].Job.CancelRequestedAt = now
	want = "bat_1: 2 jobs: 1 running, 1 canceled. 1 of them is being canceled. Next: wait_jobs again."
	if _, text, _ = call[mcp.BatchResult](t, api.Services{Jobs: b}, mcp.ToolWaitJobs, person, `{"batch_id":"bat_1"}`); text != want {
		t.Errorf("%q, want %q", text, want)
	}
	b.view.Jobs, b.view.Done, b.view.Ended = jobsInStates(hub.JobSucceeded), true, true
	if _, text, _ = call[mcp.BatchResult](t, api.Services{Jobs: b}, mcp.ToolWaitJobs, person, `{"batch_id":"bat_1"}`); text != "bat_1: 1 job: 1 succeeded." {
		t.Errorf("%q", text)
	}
	b.view.Jobs = nil
	for range 100 {
		b.view.Jobs = append(b.view.Jobs, jobsInStates(hub.JobFailed, hub.JobQueued)...)
	}
	out, _, _ = call[mcp.BatchResult](t, api.Services{Jobs: b}, mcp.ToolWaitJobs, person, `{"batch_id":"bat_1"}`)
	if len(out.Failed) != 20 || len(out.Active) != 20 || out.Counts["failed"] != 100 {
		t.Errorf("%d failed, %d active, %v", len(out.Failed), len(out.Active), out.Counts)
	}
}
