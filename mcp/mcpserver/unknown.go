package mcpserver

import (
	"context"
	"net/http"
	"strings"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/mcp"
)

// A model that misremembers a tool's name reads what mcp-go says of it: that it is not found. What would help is the name that comes
// nearest, as the result of a call that failed. So such a call goes to a tool of its own, which no list shows.

// unknownTool is never shown: it is not a name that a client may send, since it has a blank.
const unknownTool = "unknown tool"

type misnamedKey struct{}

// misnamed is the name of a tool that a request asks for in vain; "" for every other request.
type misnamed struct{ name string }

// withMisnamed gives each request a place for it: a hook of mcp-go's cannot put one into the context.
func withMisnamed(ctx context.Context, _ *http.Request) context.Context {
	return context.WithValue(ctx, misnamedKey{}, &misnamed{})
}

func misnamedFrom(ctx context.Context) *misnamed {
	m, _ := ctx.Value(misnamedKey{}).(*misnamed)
	return m
}

// redirect sends calls of tools that the caller does not see to unknownTool.
func redirect(sees func(ctx context.Context, tool string) bool) *server.Hooks {
	hooks := &server.Hooks{}
	hooks.AddBeforeCallTool(func(ctx context.Context, _ any, req *mcpgo.CallToolRequest) {
		if m := misnamedFrom(ctx); m != nil && !sees(ctx, req.Params.Name) {
			m.name, req.Params.Name = req.Params.Name, unknownTool
		}
	})
	return hooks
}

// answerUnknown says what is known of the tool that was asked for, and what may have been meant.
func answerUnknown(ops []api.Operation) server.ToolHandlerFunc {
	return func(ctx context.Context, _ mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		name := misnamedFrom(ctx).name
		e := &mcp.Error{Code: mcp.CodeNotFound, Message: "tool not found: " + api.Cut(strings.ToValidUTF8(name, ""), 64), Hint: "tools/list names those that there are"}
		var visible []string
		for i := range ops {
			o := &ops[i]
			if o.HTTPOnly {
				continue
			}
			yes, why := o.Visible(api.PrincipalFrom(ctx), api.ViewFrom(ctx))
			switch {
			case yes:
				visible = append(visible, o.Name)
			case o.Name == name && why != "":
				e.Hint = why
				return failure(e), nil
			}
		}
		if near := nearestTool(name, visible); near != "" {
			e.Hint = "did you mean " + near + "?"
		}
		return failure(e), nil
	}
}

// otherNames are what tools of other CIs that do the same are called.
var otherNames = map[string]string{
	"run_job": mcp.ToolSubmitJob, "create_job": mcp.ToolSubmitJob, "start_job": mcp.ToolSubmitJob, "trigger_job": mcp.ToolSubmitJob, "run_workflow": mcp.ToolSubmitJob,
	"get_job_log": mcp.ToolReadJobLog, "get_job_logs": mcp.ToolReadJobLog, "get_logs": mcp.ToolReadJobLog, "job_logs": mcp.ToolReadJobLog,
	"get_job_status": mcp.ToolWaitJob, "job_status": mcp.ToolWaitJob, "stop_job": mcp.ToolCancelJob, "rerun_job": mcp.ToolRetryJob,
	"validate_job": mcp.ToolCheckJob, "exec": mcp.ToolExecInJob, "run_command": mcp.ToolExecInJob, "get_artifact": mcp.ToolReadArtifact,
	"download_artifact": mcp.ToolReadArtifact, "get_artifacts": mcp.ToolListArtifacts, "get_runners": mcp.ToolListRunners,
}

func nearestTool(name string, visible []string) string {
	for _, v := range visible {
		if v == otherNames[name] {
			return v
		}
	}
	return api.Nearest(name, visible)
}
