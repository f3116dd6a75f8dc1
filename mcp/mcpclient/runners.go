package mcpclient

import (
	"context"

	"github.com/runnerhub/runnerhub/mcp"
)

// ListRunners returns one page of the caller's own runners.
func (c *Client) ListRunners(ctx context.Context, args mcp.ListRunnersArgs) (mcp.ListRunnersResult, error) {
	return call[mcp.ListRunnersResult](ctx, c, mcp.ToolListRunners, args, 0, idempotent)
}

// ListWorkspaceRunners returns one page of a workspace's runners.
func (c *Client) ListWorkspaceRunners(ctx context.Context, args mcp.ListWorkspaceRunnersArgs) (mcp.ListRunnersResult, error) {
	return call[mcp.ListRunnersResult](ctx, c, mcp.ToolListWorkspaceRunners, args, 0, idempotent)
}

// PairRunner makes a pairing token for one machine of the caller's.
func (c *Client) PairRunner(ctx context.Context, args mcp.PairRunnerArgs) (mcp.PairRunnerResult, error) {
	return call[mcp.PairRunnerResult](ctx, c, mcp.ToolPairRunner, args, 0, once)
}

// PairWorkspaceRunner makes a pairing token for one machine of a workspace's.
func (c *Client) PairWorkspaceRunner(ctx context.Context, args mcp.PairWorkspaceRunnerArgs) (mcp.PairRunnerResult, error) {
	return call[mcp.PairRunnerResult](ctx, c, mcp.ToolPairWorkspaceRunner, args, 0, once)
}

// RevokeRunner ends the pairing of one of the caller's runners.
func (c *Client) RevokeRunner(ctx context.Context, args mcp.RevokeRunnerArgs) (mcp.RevokeRunnerResult, error) {
	return call[mcp.RevokeRunnerResult](ctx, c, mcp.ToolRevokeRunner, args, 0, once)
}

// RevokeWorkspaceRunner ends the pairing of one of a workspace's runners.
func (c *Client) RevokeWorkspaceRunner(ctx context.Context, args mcp.RevokeWorkspaceRunnerArgs) (mcp.RevokeRunnerResult, error) {
	return call[mcp.RevokeRunnerResult](ctx, c, mcp.ToolRevokeWorkspaceRunner, args, 0, once)
}

// Whoami tells what the token is and may do.
func (c *Client) Whoami(ctx context.Context) (mcp.WhoamiResult, error) {
	return call[mcp.WhoamiResult](ctx, c, mcp.ToolWhoami, struct{}{}, 0, idempotent)
}

// UnpairRunner ends the pairing of the runner whose token the client has.
func (c *Client) UnpairRunner(ctx context.Context) (mcp.UnpairRunnerResult, error) {
	return call[mcp.UnpairRunnerResult](ctx, c, mcp.ToolUnpairRunner, struct{}{}, 0, once)
}
