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

func submitJobs(s Services) Operation {
	return define(Operation{
		Name: mcp.ToolSubmitJobs, Title: "Submit a batch of jobs", Audience: People, Toolset: JobTools,
		Description: "Run up to 100 jobs in one call: each entry of matrix is merged into spec, " +
			"say {\"name\": \"go 1.26\", \"image\": \"golang:1.26\"}. The rest is as in submit_job. A mistake in one spec stores none. Next: wait_jobs with the batch_id.",
		Hints:  Hints{OpenWorld: true},
		Route:  Route{Method: http.MethodPost, Path: "/batches", MaxBody: SpecBody},
		limits: requestLimits.with(limits{"idempotency_key": keyLimit, "matrix": items(dispatch.MaxBatch, 0)}), Described: asInSubmit,
	}, func(ctx context.Context, p hub.Principal, in mcp.SubmitJobsArgs) (mcp.SubmitJobsResult, error) {
		r, err := requestOf(mcp.JobRequest{Spec: in.Spec, JobPlacement: in.JobPlacement})
		if err != nil {
			return mcp.SubmitJobsResult{}, err
		}
		matrix := make([][]byte, len(in.Matrix))
		for i, changes := range in.Matrix {
			if matrix[i], err = specText(changes); err != nil {
				return mcp.SubmitJobsResult{}, err
			}
		}
		got, err := s.Jobs.SubmitBatch(ctx, p, dispatch.BatchRequest{JobRequest: r, Matrix: matrix, IdempotencyKey: in.IdempotencyKey})
		if err != nil {
			return mcp.SubmitJobsResult{}, err
		}
		return submittedBatch(got), nil
	}, submittedBatchText)
}

func waitJobs(s Services) Operation {
	return define(Operation{
		Name: mcp.ToolWaitJobs, Title: "Wait for a batch of jobs", Audience: People, Toolset: JobTools,
		Description: "How many jobs of a batch are in which state, and which failed or go on: once all have ended, or one has failed if until says so, " +
			"or after wait_ms. Call it until done is true. Next: explain_job for one that failed, cancel_jobs for the rest.",
		Hints:  Hints{ReadOnly: true, Idempotent: true},
		Route:  Route{Method: http.MethodGet, Path: "/batches/{batch_id}/wait"},
		limits: limits{"batch_id": idLimit, "wait_ms": waitLimit, "until": byDefault("all", oneOf("all", "first_failure"))},
	}, func(ctx context.Context, p hub.Principal, in mcp.WaitJobsArgs) (mcp.BatchResult, error) {
		got, err := s.Jobs.WaitBatch(ctx, p, dispatch.WaitBatchRequest{
			BatchID: in.BatchID, FirstFailure: in.Until == "first_failure", Wait: duration(in.WaitMS),
		})
		return batchView(got), err
	}, batchText)
}

func cancelJobs(s Services) Operation {
	return define(Operation{
		Name: mcp.ToolCancelJobs, Title: "Cancel a batch of jobs", Audience: People, Toolset: JobTools,
		Description: "What cancel_job does, for all jobs of a batch that have not ended, such as the rest of one after a failure.",
		Hints:       Hints{Destructive: true, Idempotent: true},
		Route:       Route{Method: http.MethodPost, Path: "/batches/{batch_id}/cancel"},
		limits:      limits{"batch_id": idLimit, "reason": upTo(200)},
	}, func(ctx context.Context, p hub.Principal, in mcp.CancelJobsArgs) (mcp.BatchResult, error) {
		got, err := s.Jobs.CancelBatch(ctx, p, in.BatchID, in.Reason)
		return batchView(got), err
	}, batchText)
}

func submittedBatch(r dispatch.BatchResult) mcp.SubmitJobsResult {
	out := mcp.SubmitJobsResult{BatchID: r.ID, Jobs: []mcp.BatchJob{}, Existing: r.Existing, Notices: noticesView(r.Notices)}
	for i, q := range r.Jobs {
		out.Jobs = append(out.Jobs, batchJob(i, q))
	}
	if r.Err != nil {
		out.Stopped, out.RetryKey = Fault(r.Err), r.Key
	}
	return out
}

func submittedBatchText(out mcp.SubmitJobsResult) string {
	line := fmt.Sprintf("%s: %s stored.", out.BatchID, plural(len(out.Jobs), "job"))
	if out.Existing > 0 {
		line = fmt.Sprintf("%s: %s, of which that idempotency key had stored %d before.", out.BatchID, plural(len(out.Jobs), "job"), out.Existing)
	}
	if out.Stopped != nil {
		line += fmt.Sprintf(" Then it stopped: %s (%s). Repeat the call with idempotency_key %s to store the rest.",
			strings.TrimRight(out.Stopped.Message, ". "), strings.TrimRight(out.Stopped.Hint, ". "), out.RetryKey)
	}
	return line + noticesText(out.Notices) + " Next: wait_jobs with the batch_id."
}

// maxBatchList is how many jobs an answer names of those that failed, and of those that have not ended.
const maxBatchList = 20

func batchView(v dispatch.BatchView) mcp.BatchResult {
	out := mcp.BatchResult{
		BatchID: v.ID, Done: v.Done, Total: len(v.Jobs), Counts: map[string]int{},
		Failed: []mcp.BatchJob{}, Active: []mcp.BatchJob{},
	}
	for i, q := range v.Jobs {
		out.Counts[string(q.Job.State)]++
		if canceling(q.Job) {
			out.Canceling++
		}
		switch {
		case dispatch.Failed(q.Job):
			if len(out.Failed) < maxBatchList {
				out.Failed = append(out.Failed, batchJob(i, q))
			}
		case !q.Job.State.Ended() && len(out.Active) < maxBatchList:
			out.Active = append(out.Active, batchJob(i, q))
		}
	}
	return out
}

func batchJob(i int, q hub.QueuedJob) mcp.BatchJob {
	return mcp.BatchJob{
		Index: i, JobID: q.Job.ID, Name: q.Payload.Name, State: string(q.Job.State),
		Phase: q.Job.Phase, Step: q.Job.Step, Canceling: canceling(q.Job), Failure: failureView(q.Job.Failure),
	}
}

// canceling says whether a job was told to end and goes on.
func canceling(j hub.Job) bool { return j.State.Live() && !j.CancelRequestedAt.IsZero() }

// firstOf is a text's first line.
func firstOf(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// batchText says how many are where, in the order of a job's life, and which have failed.
func batchText(out mcp.BatchResult) string {
	var counts []string
	for _, state := range stateWords() {
		if n := out.Counts[state]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, strings.ReplaceAll(state, "_", " ")))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s: %s.", out.BatchID, plural(out.Total, "job"), strings.Join(counts, ", "))
	if out.Canceling > 0 {
		fmt.Fprintf(&b, " %d of them %s being canceled.", out.Canceling, are(out.Canceling))
	}
	for _, j := range out.Failed {
		fmt.Fprintf(&b, "\nmatrix[%d] %s", j.Index, j.JobID)
		if j.Name != "" {
			fmt.Fprintf(&b, " %q", j.Name)
		}
		if j.Failure != nil {
			fmt.Fprintf(&b, " %s: %s", j.Failure.Class, firstOf(j.Failure.Message))
		} else {
			b.WriteString(" " + j.State)
		}
	}
	left := 0 // that nobody has told to end
	for _, state := range stateGroups["active"] {
		left += out.Counts[string(state)]
	}
	left -= out.Canceling
	switch {
	case len(out.Failed) > 0 && left > 0:
		b.WriteString("\nNext: explain_job for why one failed, wait_jobs again for the rest, cancel_jobs to end the rest.")
	case len(out.Failed) > 0:
		b.WriteString("\nNext: explain_job for why one failed.")
	case left+out.Canceling > 0:
		b.WriteString(" Next: wait_jobs again.")
	}
	return b.String()
}

func are(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
