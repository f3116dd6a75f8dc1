package cmdutil

import (
	"context"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
)

// Artifacts lists everything that an attempt left, and says why that is nothing. Attempt 0 is the latest.
func Artifacts(ctx context.Context, client *mcpclient.Client, jobID string, attempt int) (all []mcp.Artifact, note string, err error) {
	const most = 100 // that the hub gives at once
	all = []mcp.Artifact{}
	err = Each(func(cursor string) (string, error) {
		page, err := client.ListArtifacts(ctx, mcp.ListArtifactsArgs{JobID: jobID, Attempt: attempt, Limit: most, Cursor: cursor})
		all, note = append(all, page.Artifacts...), note+page.Note
		return page.NextCursor, err
	})
	return all, note, err
}
