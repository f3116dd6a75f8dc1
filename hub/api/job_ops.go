package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/mcp"
)

var requestLimits = limits{
	"target": upTo(64), "workspace": slugLimit, "priority": between(-100, 100),
}

// asInSubmit are the arguments of a request that submit_job has described.
var asInSubmit = []string{"target", "workspace", "priority"}

func submitJob(s Services) Operation {
	return leading(define(Operation{
		Name: mcp.ToolSubmitJob, Title: "Submit a job", Audience: People, Toolset: JobTools,
		Description: "Run a job on a paired machine, in containers of its own. spec: `image` and either `steps` ([{name, run}]) or `command`, " +
			"optionally `source` ({repository, commit} or {files}, and `patch`, a unified diff of it), `services`, `env`, `artifacts`, `reports`, `collect` (patch: what the job changed comes back), `requires`, `labels`, `resources`, `timeout`, `retry`, `concurrency`, `hold_on_failure`, `exec`, `kind: session`; check_job tells what is wrong with one without running it. " +
			"Answers at once with the stored job, with wait_ms as far as it got by then; notices say when no runner can take it. " +
			"Give an idempotency_key so that a repeated call does not run it twice. " +
			"Next: wait_job for its end, explain_job when it does not start or has failed.",
		Hints:  Hints{OpenWorld: true},
		Route:  Route{Method: http.MethodPost, Path: "/jobs", MaxBody: SpecBody},
		limits: requestLimits.with(limits{"idempotency_key": keyLimit, "wait_ms": waitLimit}),
	}, func(ctx context.Context, p hub.Principal, in mcp.SubmitJobArgs) (mcp.SubmitJobResult, error) {
		r, err := requestOf(in.JobRequest)
		if err != nil {
			return mcp.SubmitJobResult{}, err
		}
		got, err := s.Jobs.Submit(ctx, p, dispatch.SubmitRequest{JobRequest: r, IdempotencyKey: in.IdempotencyKey, Wait: duration(in.WaitMS), Progress: jobProgress(ctx)})
		if err != nil {
			return mcp.SubmitJobResult{}, err
		}
		return submitResultView(s.Jobs.Now(), got)
	}, submittedLine), submittedLinks)
}

func submittedLinks(out mcp.SubmitJobResult) []mcp.Resource {
	return []mcp.Resource{jobResource(out.Job), logResource(out.Job.ID)}
}

func submittedLine(out mcp.SubmitJobResult) string {
	line := jobLine(out.Job)
	if out.Existing {
		line = "That idempotency key has stored this before. " + line
	}
	line = strings.TrimSpace(line + noticesText(out.Notices))
	switch {
	case len(out.Notices) > 0:
		return line + " Next: explain_job."
	case out.Job.FinishedAt == nil:
		return line + " Next: wait_job with follow=end."
	case out.Job.Failure != nil:
		return line + " Next: explain_job."
	}
	return line
}

func noticesText(notices []mcp.Notice) string {
	var text string
	for _, n := range notices {
		text += " " + n.Message + " " + n.Hint
	}
	return strings.TrimRight(text, " ")
}

func checkJob(s Services) Operation {
	return define(Operation{
		Name: mcp.ToolCheckJob, Title: "Check a job without running it", Audience: People, Toolset: JobTools,
		Description: "Before submit_job, with the same arguments, when a spec is new: whether it is valid, each fault with line, column and field, " +
			"and which runners could take the job, or what stands in the way. Stores nothing.",
		Hints:  Hints{ReadOnly: true, Idempotent: true},
		Route:  Route{Method: http.MethodPost, Path: "/jobs/check", MaxBody: SpecBody},
		limits: requestLimits, Described: asInSubmit,
	}, func(ctx context.Context, p hub.Principal, in mcp.CheckJobArgs) (mcp.CheckJobResult, error) {
		r, err := requestOf(in.JobRequest)
		if err != nil {
			return mcp.CheckJobResult{}, err
		}
		r.SourceFollows = in.SourceFollows
		got, err := s.Jobs.Check(ctx, p, r)
		if err != nil {
			return mcp.CheckJobResult{}, err
		}
		return checkResultView(got), nil
	}, checkText)
}

func waitJob(s Services) Operation {
	return leading(define(Operation{
		Name: mcp.ToolWaitJob, Title: "Wait for a job", Audience: People, Toolset: JobTools,
		Description: "Follow a job: its state and the log lines since cursor, once there is something new, or with follow=end once the job has ended, and after wait_ms at the latest. " +
			"Without a cursor it answers at once with the last lines; cursor `start` reads the log from its beginning. " +
			"Pass next_cursor to the next call and go on until done is true.",
		Hints:  Hints{ReadOnly: true, Idempotent: true},
		Route:  Route{Method: http.MethodGet, Path: "/jobs/{job_id}/wait"},
		limits: limits{"job_id": idLimit, "cursor": cursorLimit, "wait_ms": waitLimit, "follow": byDefault("change", oneOf("change", "end"))},
	}, func(ctx context.Context, p hub.Principal, in mcp.WaitJobArgs) (mcp.WaitJobResult, error) {
		got, err := s.Jobs.Wait(ctx, p, dispatch.WaitRequest{
			JobID: in.JobID, Cursor: in.Cursor, Wait: duration(in.WaitMS), UntilEnd: in.Follow == "end", Raw: in.Raw, Progress: jobProgress(ctx),
		})
		if err != nil {
			return mcp.WaitJobResult{}, err
		}
		return waitResultView(s.Jobs.Now(), got)
	}, waitText), endLinks)
}

// endLinks lead to what is worth keeping of a job that has ended.
func endLinks(out mcp.WaitJobResult) []mcp.Resource {
	if !out.Done {
		return nil
	}
	return []mcp.Resource{endedResource(out), logResource(out.JobID)}
}

func getJob(s Services) Operation {
	return define(Operation{
		Name: mcp.ToolGetJob, Title: "Get a job", Audience: People, Toolset: JobTools,
		Description: "The whole job: state, who asked for it, every attempt, its result or failure, and its spec. " +
			"For output use read_job_log, for why it waits or failed explain_job.",
		Hints:  Hints{ReadOnly: true, Idempotent: true},
		Route:  Route{Method: http.MethodGet, Path: "/jobs/{job_id}"},
		limits: limits{"job_id": idLimit},
	}, func(ctx context.Context, p hub.Principal, in mcp.JobRef) (mcp.GetJobResult, error) {
		got, err := s.Jobs.Get(ctx, p, in.JobID)
		if err != nil {
			return mcp.GetJobResult{}, err
		}
		job, err := jobView(s.Jobs.Now(), got)
		if err != nil {
			return mcp.GetJobResult{}, err
		}
		job.Spec = got.Payload.Spec
		return mcp.GetJobResult{Job: job}, nil
	}, getJobText)
}

func listJobs(s Services) Operation {
	return define(Operation{
		Name: mcp.ToolListJobs, Title: "List jobs", Audience: People, Toolset: JobTools,
		Description: "Jobs that you may see, the newest first; next_cursor is the cursor of the next page. since and until are of their creation.",
		Hints:       Hints{ReadOnly: true, Idempotent: true},
		Route:       Route{Method: http.MethodGet, Path: "/jobs"},
		limits: limits{
			"state": oneOf(stateWords()...), "runner": idLimit, "label": labelLimit, "workspace": slugLimit, "batch_id": idLimit,
			"limit": pageLimit, "cursor": cursorLimit,
		},
	}, func(ctx context.Context, p hub.Principal, in mcp.ListJobsArgs) (mcp.ListJobsResult, error) {
		r := dispatch.ListRequest{
			States: statesOf(in.State), RunnerID: in.Runner, Label: in.Label, Workspace: in.Workspace, BatchID: in.BatchID, Limit: in.Limit, Cursor: in.Cursor,
		}
		if in.Since != nil {
			r.Since = in.Since.UTC()
		}
		if in.Until != nil {
			r.Until = in.Until.UTC()
		}
		got, err := s.Jobs.List(ctx, p, r)
		if err != nil {
			return mcp.ListJobsResult{}, err
		}
		out := mcp.ListJobsResult{Jobs: make([]mcp.Job, len(got.Jobs)), NextCursor: got.NextCursor}
		for i, j := range got.Jobs {
			if out.Jobs[i], err = jobView(s.Jobs.Now(), j); err != nil {
				return mcp.ListJobsResult{}, err
			}
		}
		return out, nil
	}, jobsText)
}

func cancelJob(s Services) Operation {
	return define(Operation{
		Name: mcp.ToolCancelJob, Title: "Cancel a job", Audience: People, Toolset: JobTools,
		Description: "End a job: a queued one at once, a running one by asking its runner to stop it (SIGTERM, a grace, SIGKILL). Next: wait_job with follow=end to see it stop.",
		Hints:       Hints{Destructive: true, Idempotent: true},
		Route:       Route{Method: http.MethodPost, Path: "/jobs/{job_id}/cancel"},
		limits:      limits{"job_id": idLimit, "reason": upTo(200)},
	}, func(ctx context.Context, p hub.Principal, in mcp.CancelJobArgs) (mcp.CancelJobResult, error) {
		got, err := s.Jobs.Cancel(ctx, p, in.JobID, in.Reason)
		if err != nil {
			return mcp.CancelJobResult{}, err
		}
		job, err := jobView(s.Jobs.Now(), got)
		return mcp.CancelJobResult{Job: job}, err
	}, func(out mcp.CancelJobResult) string { return jobLine(out.Job) })
}

func retryJob(s Services) Operation {
	return leading(define(Operation{
		Name: mcp.ToolRetryJob, Title: "Run a job again", Audience: People, Toolset: JobTools,
		Description: "Run a job that has ended again, to the same target, as a new job that names the old one in retry_of; with changes to try a fix or to look closer. " +
			"Give an idempotency_key so that a repeated call does not run it twice. Next: wait_job with the new job's id.",
		Hints:  Hints{OpenWorld: true},
		Route:  Route{Method: http.MethodPost, Path: "/jobs/{job_id}/retry", MaxBody: SpecBody},
		limits: limits{"job_id": idLimit, "idempotency_key": keyLimit},
	}, func(ctx context.Context, p hub.Principal, in mcp.RetryJobArgs) (mcp.SubmitJobResult, error) {
		changes, err := specText(in.Changes)
		if err != nil {
			return mcp.SubmitJobResult{}, err
		}
		got, err := s.Jobs.Retry(ctx, p, dispatch.RetryRequest{JobID: in.JobID, Changes: changes, IdempotencyKey: in.IdempotencyKey})
		if err != nil {
			return mcp.SubmitJobResult{}, err
		}
		return submitResultView(s.Jobs.Now(), got)
	}, submittedLine), submittedLinks)
}

func explainJob(s Services) Operation {
	return define(Operation{
		Name: mcp.ToolExplainJob, Title: "Explain a job", Audience: People, Toolset: JobTools,
		Description: "Why a job is not running (place in the queue, what it waits for, what stands in the way at each runner) or how it ended " +
			"(failure, hint, tests, outputs, the log's most telling and last lines), what would help, and its timeline. Ask this first when a job does not do what was expected.",
		Hints:  Hints{ReadOnly: true, Idempotent: true},
		Route:  Route{Method: http.MethodGet, Path: "/jobs/{job_id}/explain"},
		limits: limits{"job_id": idLimit},
	}, func(ctx context.Context, p hub.Principal, in mcp.JobRef) (mcp.ExplainJobResult, error) {
		got, err := s.Jobs.Explain(ctx, p, in.JobID)
		if err != nil {
			return mcp.ExplainJobResult{}, err
		}
		return explanationView(got)
	}, explainText)
}

func jobLine(j mcp.Job) string {
	line := fmt.Sprintf("%s: %s", j.ID, strings.ReplaceAll(j.State, "_", " "))
	switch {
	case j.Canceling:
		line += ", canceling"
	case j.Held != nil:
		line += ", " + strings.ReplaceAll(j.Held.Status, "_", " ") + " and held: " + strings.TrimRight(j.Failure.Message, ". \n")
	case j.Failure != nil:
		line += ": " + strings.TrimRight(j.Failure.Message, ". \n")
	case j.Phase != "":
		line += " (" + j.Phase + ")"
	}
	return line + "."
}

func countLine(n int, what, cursor string) string {
	line := plural(n, what) + "."
	if cursor != "" {
		line += " There are more: pass next_cursor as cursor."
	}
	return line
}
