package cmdutil

import (
	"regexp"

	"github.com/runnerhub/runnerhub/mcp"
)

var word = regexp.MustCompile(`\b[a-z]+(_[a-z]+)*\b`)

// Commands says a hub's advice in our words: the hub names the tools that an agent would call, and a person at a
// terminal has commands.
func Commands(advice string) string {
	return word.ReplaceAllStringFunc(advice, func(tool string) string {
		if c := command(tool); c != "" {
			return "`runnerctl " + c + "`"
		}
		return tool
	})
}

func command(tool string) string {
	switch tool {
	case mcp.ToolSubmitJob:
		return "submit"
	case mcp.ToolCheckJob:
		return "submit --check"
	case mcp.ToolWaitJob:
		return "logs -f"
	case mcp.ToolGetJob, mcp.ToolExplainJob:
		return "explain"
	case mcp.ToolListJobs:
		return "jobs"
	case mcp.ToolCancelJob:
		return "cancel"
	case mcp.ToolRetryJob:
		return "retry"
	case mcp.ToolExecInJob:
		return "exec"
	case mcp.ToolReadJobFile, mcp.ToolWriteJobFile:
		return "cp"
	case mcp.ToolEndHold:
		return "release"
	case mcp.ToolReadJobLog:
		return "logs"
	case mcp.ToolListRunners:
		return "runners"
	case mcp.ToolListWorkspaceRunners:
		return "runners --workspace"
	case mcp.ToolPairRunner:
		return "pair"
	case mcp.ToolPairWorkspaceRunner:
		return "pair --workspace"
	case mcp.ToolRevokeRunner:
		return "runners revoke"
	case mcp.ToolRevokeWorkspaceRunner:
		return "runners revoke --workspace"
	case mcp.ToolWhoami:
		return "status"
	}
	return ""
}
