package api

import (
	"context"
	"net/http"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/mcp"
)

func uploadSource(s Services) Operation {
	return define(Operation{
		Name: mcp.ToolUploadSource, Title: "Announce a source archive", Audience: People, Toolset: JobTools, HTTPOnly: true,
		Description: "Announce an archive that jobs are to start from: a tar stream, compressed by zstd, by its size and SHA-256. target and workspace are those " +
			"of the job. When the hub has it already (exists) there is nothing to send; otherwise send it with PUT upload_url?offset=N. " +
			"A spec then names it as source: {archive: \"sha256:…\"}.",
		Hints:  Hints{Idempotent: true},
		Route:  Route{Method: http.MethodPost, Path: "/sources"},
		limits: limits{"sha256": text(64), "size": atLeast(0), "target": upTo(64), "workspace": slugLimit},
	}, func(ctx context.Context, p hub.Principal, in mcp.UploadSourceArgs) (mcp.UploadTicket, error) {
		digest, err := digestOf(in.SHA256)
		if err != nil {
			return mcp.UploadTicket{}, err
		}
		got, err := s.Jobs.AnnounceSource(ctx, p, dispatch.SourceRequest{Target: in.Target, Workspace: in.Workspace, Size: in.Size, Digest: digest})
		if err != nil {
			return mcp.UploadTicket{}, err
		}
		return ticketView(baseURL(ctx), got), nil
	}, func(out mcp.UploadTicket) string {
		if out.Exists {
			return "The hub has it already."
		}
		return "Send it to upload_url."
	})
}
