package mcpclient

import (
	"context"

	"github.com/google/uuid"

	"github.com/runnerhub/runnerhub/mcp"
)

// SubmitJob stores a job. Without an idempotency key it gets one, so that the
// call can be repeated when its answer is lost.
func (c *Client) SubmitJob(ctx context.Context, args mcp.SubmitJobArgs) (mcp.SubmitJobResult, error) {
	args.IdempotencyKey = keyOr(args.IdempotencyKey)
	return call[mcp.SubmitJobResult](ctx, c, mcp.ToolSubmitJob, args, ms(args.WaitMS), idempotent)
}

// CheckJob says what is wrong with a job and who could run it; it stores nothing.
func (c *Client) CheckJob(ctx context.Context, args mcp.CheckJobArgs) (mcp.CheckJobResult, error) {
	return call[mcp.CheckJobResult](ctx, c, mcp.ToolCheckJob, args, 0, idempotent)
}

// WaitJob waits for news of a job.
func (c *Client) WaitJob(ctx context.Context, args mcp.WaitJobArgs) (mcp.WaitJobResult, error) {
	return call[mcp.WaitJobResult](ctx, c, mcp.ToolWaitJob, args, ms(args.WaitMS), idempotent)
}

// GetJob returns the whole job.
func (c *Client) GetJob(ctx context.Context, args mcp.JobRef) (mcp.GetJobResult, error) {
	return call[mcp.GetJobResult](ctx, c, mcp.ToolGetJob, args, 0, idempotent)
}

// ListJobs returns one page of jobs.
func (c *Client) ListJobs(ctx context.Context, args mcp.ListJobsArgs) (mcp.ListJobsResult, error) {
	return call[mcp.ListJobsResult](ctx, c, mcp.ToolListJobs, args, 0, idempotent)
}

// CancelJob cancels a job.
func (c *Client) CancelJob(ctx context.Context, args mcp.CancelJobArgs) (mcp.CancelJobResult, error) {
	return call[mcp.CancelJobResult](ctx, c, mcp.ToolCancelJob, args, 0, idempotent)
}

// RetryJob runs a job's spec again, with an idempotency key as SubmitJob.
func (c *Client) RetryJob(ctx context.Context, args mcp.RetryJobArgs) (mcp.SubmitJobResult, error) {
	args.IdempotencyKey = keyOr(args.IdempotencyKey)
	return call[mcp.SubmitJobResult](ctx, c, mcp.ToolRetryJob, args, 0, idempotent)
}

// ExplainJob says why a job is not running, or how it ended.
func (c *Client) ExplainJob(ctx context.Context, args mcp.JobRef) (mcp.ExplainJobResult, error) {
	return call[mcp.ExplainJobResult](ctx, c, mcp.ToolExplainJob, args, 0, idempotent)
}

// ReadJobLog reads a part of a job's log.
func (c *Client) ReadJobLog(ctx context.Context, args mcp.ReadJobLogArgs) (mcp.ReadJobLogResult, error) {
	return call[mcp.ReadJobLogResult](ctx, c, mcp.ToolReadJobLog, args, 0, idempotent)
}

// ListArtifacts returns one page of what an attempt left.
func (c *Client) ListArtifacts(ctx context.Context, args mcp.ListArtifactsArgs) (mcp.ListArtifactsResult, error) {
	return call[mcp.ListArtifactsResult](ctx, c, mcp.ToolListArtifacts, args, 0, idempotent)
}

// ReadArtifact reads a part of a text file that an attempt left.
func (c *Client) ReadArtifact(ctx context.Context, args mcp.ReadArtifactArgs) (mcp.ReadArtifactResult, error) {
	return call[mcp.ReadArtifactResult](ctx, c, mcp.ToolReadArtifact, args, 0, idempotent)
}

func keyOr(key string) string {
	if key == "" {
		return uuid.NewString()
	}
	return key
}
