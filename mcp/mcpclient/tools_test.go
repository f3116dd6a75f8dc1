package mcpclient_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
)

// calls lists every tool with the method that calls it.
func calls() map[string]func(context.Context, *mcpclient.Client) error {
	drop := func(_ any, err error) error { return err }
	return map[string]func(context.Context, *mcpclient.Client) error{
		mcp.ToolLeaseJob: func(ctx context.Context, c *mcpclient.Client) error { return drop(c.LeaseJob(ctx, mcp.LeaseJobArgs{})) },
		mcp.ToolHeartbeatJob: func(ctx context.Context, c *mcpclient.Client) error {
			return drop(c.HeartbeatJob(ctx, mcp.HeartbeatJobArgs{}))
		},
		mcp.ToolSubmitJobResult: func(ctx context.Context, c *mcpclient.Client) error {
			return drop(c.SubmitJobResult(ctx, mcp.SubmitJobResultArgs{}))
		},
		mcp.ToolFailJob: func(ctx context.Context, c *mcpclient.Client) error { return drop(c.FailJob(ctx, mcp.FailJobArgs{})) },
		mcp.ToolReleaseJob: func(ctx context.Context, c *mcpclient.Client) error {
			return drop(c.ReleaseJob(ctx, mcp.ReleaseJobArgs{}))
		},
		mcp.ToolUploadArtifact: func(ctx context.Context, c *mcpclient.Client) error {
			return drop(c.UploadArtifact(ctx, mcp.UploadArtifactArgs{}))
		},
		mcp.ToolListArtifacts: func(ctx context.Context, c *mcpclient.Client) error {
			return drop(c.ListArtifacts(ctx, mcp.ListArtifactsArgs{}))
		},
		mcp.ToolReadArtifact: func(ctx context.Context, c *mcpclient.Client) error {
			return drop(c.ReadArtifact(ctx, mcp.ReadArtifactArgs{}))
		},
		mcp.ToolSubmitJob: func(ctx context.Context, c *mcpclient.Client) error {
			return drop(c.SubmitJob(ctx, mcp.SubmitJobArgs{}))
		},
		mcp.ToolCheckJob: func(ctx context.Context, c *mcpclient.Client) error { return drop(c.CheckJob(ctx, mcp.CheckJobArgs{})) },
		mcp.ToolWaitJob:  func(ctx context.Context, c *mcpclient.Client) error { return drop(c.WaitJob(ctx, mcp.WaitJobArgs{})) },
		mcp.ToolGetJob:   func(ctx context.Context, c *mcpclient.Client) error { return drop(c.GetJob(ctx, mcp.JobRef{})) },
		mcp.ToolListJobs: func(ctx context.Context, c *mcpclient.Client) error { return drop(c.ListJobs(ctx, mcp.ListJobsArgs{})) },
		mcp.ToolCancelJob: func(ctx context.Context, c *mcpclient.Client) error {
			return drop(c.CancelJob(ctx, mcp.CancelJobArgs{}))
		},
		mcp.ToolRetryJob:   func(ctx context.Context, c *mcpclient.Client) error { return drop(c.RetryJob(ctx, mcp.RetryJobArgs{})) },
		mcp.ToolExplainJob: func(ctx context.Context, c *mcpclient.Client) error { return drop(c.ExplainJob(ctx, mcp.JobRef{})) },
		mcp.ToolReadJobLog: func(ctx context.Context, c *mcpclient.Client) error {
			return drop(c.ReadJobLog(ctx, mcp.ReadJobLogArgs{}))
		},
		mcp.ToolListRunners: func(ctx context.Context, c *mcpclient.Client) error {
			return drop(c.ListRunners(ctx, mcp.ListRunnersArgs{}))
		},
		mcp.ToolPairRunner: func(ctx context.Context, c *mcpclient.Client) error {
			return drop(c.PairRunner(ctx, mcp.PairRunnerArgs{}))
		},
		mcp.ToolRevokeRunner: func(ctx context.Context, c *mcpclient.Client) error {
			return drop(c.RevokeRunner(ctx, mcp.RevokeRunnerArgs{}))
		},
		mcp.ToolListWorkspaceRunners: func(ctx context.Context, c *mcpclient.Client) error {
			return drop(c.ListWorkspaceRunners(ctx, mcp.ListWorkspaceRunnersArgs{}))
		},
		mcp.ToolPairWorkspaceRunner: func(ctx context.Context, c *mcpclient.Client) error {
			return drop(c.PairWorkspaceRunner(ctx, mcp.PairWorkspaceRunnerArgs{}))
		},
		mcp.ToolRevokeWorkspaceRunner: func(ctx context.Context, c *mcpclient.Client) error {
			return drop(c.RevokeWorkspaceRunner(ctx, mcp.RevokeWorkspaceRunnerArgs{}))
		},
		mcp.ToolWhoami: func(ctx context.Context, c *mcpclient.Client) error { return drop(c.Whoami(ctx)) },
	}
}

func TestEveryToolIsCalledByItsName(t *testing.T) {
	t.Parallel()
	called := map[string]int{}
	tools := map[string]tool{}
	for name := range calls() {
		tools[name] = func(json.RawMessage) (any, *mcp.Error) { called[name]++; return struct{}{}, nil }
	}
	c := newClient(t, mcpclient.Config{URL: newHub(t, tools).URL})
	for _, name := range slices.Sorted(maps.Keys(calls())) {
		if err := calls()[name](t.Context(), c); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if called[name] != 1 {
			t.Errorf("%s was called %d times", name, called[name])
		}
	}
}

func TestTypesSurviveTheWay(t *testing.T) {
	t.Parallel()
	want := mcp.LeaseJobResult{
		Lease: &mcp.Lease{
			JobID: "job_1", Attempt: 2, LeaseEpoch: 1<<53 + 1, // more than a float64 holds
			LeaseToken: "nonce", Spec: json.RawMessage(`{"image":"a","resources":{"memory":9007199254740993}}`),
		},
		Directives: []string{mcp.DirectiveDrain}, ServerVersion: "v1", HubID: "hub",
	}
	var got mcp.LeaseJobArgs
	h := newHub(t, map[string]tool{mcp.ToolLeaseJob: func(args json.RawMessage) (any, *mcp.Error) {
		if err := json.Unmarshal(args, &got); err != nil {
			t.Error(err)
		}
		return want, nil
	}})
	args := mcp.LeaseJobArgs{RequestID: "r1", WaitMS: 5, Capabilities: []string{"docker"}, Protocol: 1, Slots: 2}
	res, err := newClient(t, mcpclient.Config{URL: h.URL}).LeaseJob(t.Context(), args)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, res); d != "" {
		t.Errorf("result (-want +got):\n%s", d)
	}
	if d := cmp.Diff(args, got); d != "" {
		t.Errorf("arguments (-want +got):\n%s", d)
	}
}

func TestErrorsOfToolsKeepEverything(t *testing.T) {
	t.Parallel()
	want := &mcp.Error{
		Code: mcp.CodeQueueFull, Message: "1000 jobs wait", Hint: "wait for some to end", Retryable: true, RetryAfterMS: 1500,
		Details: map[string]any{"limit": "max_queued"},
	}
	n := 0
	h := newHub(t, map[string]tool{mcp.ToolSubmitJob: func(json.RawMessage) (any, *mcp.Error) { n++; return nil, want }})
	_, err := newClient(t, mcpclient.Config{URL: h.URL}).SubmitJob(t.Context(), mcp.SubmitJobArgs{})
	if d := cmp.Diff(want, wantError(t, err, mcp.CodeQueueFull)); d != "" {
		t.Errorf("error (-want +got):\n%s", d)
	}
	if n != 1 {
		t.Errorf("a full queue was tried %d times", n)
	}
}

func TestUnknownToolSaysWhy(t *testing.T) {
	t.Parallel()
	_, err := newClient(t, mcpclient.Config{URL: newHub(t, map[string]tool{mcp.ToolLeaseJob: nil}).URL}).Whoami(t.Context())
	if e := wantError(t, err, mcp.CodeNotFound); e.Hint == "" {
		t.Errorf("no hint: %v", e)
	}
}

func TestRetriesKeepTheirKey(t *testing.T) {
	t.Parallel()
	var keys []string
	h := newHub(t, map[string]tool{mcp.ToolSubmitJob: func(args json.RawMessage) (any, *mcp.Error) {
		var a mcp.SubmitJobArgs
		_ = json.Unmarshal(args, &a)
		keys = append(keys, a.IdempotencyKey)
		if len(keys) < 3 {
			return nil, &mcp.Error{Code: mcp.CodeUnavailable, Message: "the store is away", Retryable: true}
		}
		return mcp.SubmitJobResult{Job: mcp.Job{ID: "job_1"}}, nil
	}})
	res, err := newClient(t, mcpclient.Config{URL: h.URL}).SubmitJob(t.Context(), mcp.SubmitJobArgs{})
	if err != nil || res.Job.ID != "job_1" {
		t.Fatalf("%+v, %v", res, err)
	}
	if len(keys) != 3 || keys[0] == "" || keys[0] != keys[1] || keys[1] != keys[2] {
		t.Errorf("keys %q", keys)
	}
}
