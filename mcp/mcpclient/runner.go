package mcpclient

import (
	"context"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
)

// The runner's tools. All may be repeated: a lease by its request id, a report
// by its proof and content.

// LeaseJob asks for work; the hub holds the call for args.WaitMS.
func (c *Client) LeaseJob(ctx context.Context, args mcp.LeaseJobArgs) (mcp.LeaseJobResult, error) {
	return call[mcp.LeaseJobResult](ctx, c, mcp.ToolLeaseJob, args, ms(args.WaitMS), idempotent)
}

// HeartbeatJob renews a lease; the hub holds the call for args.WaitMS unless it has something to say.
func (c *Client) HeartbeatJob(ctx context.Context, args mcp.HeartbeatJobArgs) (mcp.HeartbeatJobResult, error) {
	return call[mcp.HeartbeatJobResult](ctx, c, mcp.ToolHeartbeatJob, args, ms(args.WaitMS), idempotent)
}

// SubmitJobResult reports an attempt that ran; the hub holds the call for args.NextLease.WaitMS when a lease is asked for.
func (c *Client) SubmitJobResult(ctx context.Context, args mcp.SubmitJobResultArgs) (mcp.ReportResult, error) {
	var wait time.Duration
	if args.NextLease != nil {
		wait = ms(args.NextLease.WaitMS)
	}
	return call[mcp.ReportResult](ctx, c, mcp.ToolSubmitJobResult, args, wait, idempotent)
}

// FailJob reports an attempt that could not be run.
func (c *Client) FailJob(ctx context.Context, args mcp.FailJobArgs) (mcp.SettleResult, error) {
	return call[mcp.SettleResult](ctx, c, mcp.ToolFailJob, args, 0, idempotent)
}

// ReleaseJob gives a lease back. After a repeat the hub may answer stale_lease:
// then the lease was given back before.
func (c *Client) ReleaseJob(ctx context.Context, args mcp.ReleaseJobArgs) (mcp.ReleaseJobResult, error) {
	return call[mcp.ReleaseJobResult](ctx, c, mcp.ToolReleaseJob, args, 0, idempotent)
}

// UploadArtifact announces a file that an attempt left; Upload sends its bytes.
func (c *Client) UploadArtifact(ctx context.Context, args mcp.UploadArtifactArgs) (mcp.UploadTicket, error) {
	return call[mcp.UploadTicket](ctx, c, mcp.ToolUploadArtifact, args, 0, idempotent)
}
