// Package mcpserver serves the operation table as MCP tools over streamable
// HTTP, what jobs are and leave as resources, and usual tasks as prompts, for clients of every protocol revision that
// mcp-go knows.
//
// It keeps no state: no sessions, no server-initiated requests, and no notifications but the progress that a request asks for, on
// its own answer. What spans calls is in arguments (job_id, cursor, lease). The
// handler must stand behind hub/web's front door, which authenticates, limits
// bodies and drops notifications/cancelled.
package mcpserver

import (
	"log/slog"
	"net/http"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/mcp"
)

// What the server calls itself.
const (
	serverName  = "runnerhub"
	serverTitle = "Runner Hub"
)

// New serves the operations that are tools, and a library of the same operations as resources, prompts and completions. It
// panics when one of them cannot be described, which is a mistake in the table.
func New(ops []api.Operation, lib *api.Library, log *slog.Logger) http.Handler {
	sees := visibility(ops)
	hooks := redirect(sees)
	s := server.NewMCPServer(serverName, mcp.Version,
		server.WithTitle(serverTitle),
		server.WithInstructions(Instructions),
		server.WithToolCapabilities(false),
		server.WithToolFilter(filter(sees)),
		server.WithResourceCapabilities(false, false),
		server.WithPromptCapabilities(false),
		server.WithPromptFilter(promptFilter(lib)),
		server.WithCompletions(),
		server.WithPromptCompletionProvider(completer{lib}),
		server.WithResourceCompletionProvider(completer{lib}),
		server.WithExtensions(map[string]any{tasksExtension: struct{}{}}),
		server.WithHooks(hooks),
		server.WithLogger(slog.New(slog.DiscardHandler)), // hub/web logs requests
	)
	for i := range ops {
		if !ops[i].HTTPOnly {
			s.AddTool(Tool(&ops[i]), handler(&ops[i], lib, log))
		}
	}
	s.AddTool(mcpgo.NewTool(unknownTool), answerUnknown(ops))
	addResources(s, hooks, lib)
	addPrompts(s, lib)
	return parked(exchanged(lib, server.NewStreamableHTTPServer(s,
		server.WithHTTPContextFunc(withMisnamed),
		server.WithStateLess(true),
		server.WithDisableStreaming(true),
		// hub/web checks the Host header, and knows the hub's own names.
		server.WithDisableLocalhostProtection(true),
		server.WithStreamableHTTPLogger(log),
	)))
}
