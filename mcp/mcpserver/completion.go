package mcpserver

import (
	"context"
	"slices"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/mcp"
)

// completer completes the arguments of prompts and of resource templates from a library.
type completer struct{ lib *api.Library }

// CompletePromptArgument implements server.PromptCompletionProvider.
func (c completer) CompletePromptArgument(
	ctx context.Context, name string, arg mcpgo.CompleteArgument, known mcpgo.CompleteContext,
) (*mcpgo.Completion, error) {
	p := promptOf(name)
	if p == nil || !c.lib.Sees(ctx, p.needs) {
		return c.refuse(ctx, badPrompt("there is no prompt %q", name))
	}
	i := slices.IndexFunc(p.args, func(a promptArg) bool { return a.name == arg.Name })
	if i < 0 {
		return c.refuse(ctx, badPrompt("%s has no argument %q", name, arg.Name))
	}
	return c.complete(ctx, p.args[i].words, arg.Value, known)
}

// CompleteResourceArgument implements server.ResourceCompletionProvider; uri is a template as the list has it.
func (c completer) CompleteResourceArgument(
	ctx context.Context, uri string, arg mcpgo.CompleteArgument, known mcpgo.CompleteContext,
) (*mcpgo.Completion, error) {
	i := slices.IndexFunc(templates, func(t template) bool { return t.uri == uri })
	if i < 0 || !c.lib.Shows(ctx, templates[i].kind) {
		return c.refuse(ctx, &mcp.Error{
			Code: mcp.CodeInvalidArgument, Message: "there is no resource template " + uri, Hint: "resources/templates/list has them",
		})
	}
	words := map[string]api.Words{"job_id": api.JobWords, "path": api.ArtifactWords}[arg.Name]
	return c.complete(ctx, words, arg.Value, known)
}

func (c completer) complete(ctx context.Context, words api.Words, typed string, known mcpgo.CompleteContext) (*mcpgo.Completion, error) {
	got, fault := c.lib.Complete(ctx, words, typed, known.Arguments)
	if fault != nil {
		return c.refuse(ctx, fault)
	}
	return &mcpgo.Completion{Values: got.Values, HasMore: got.More}, nil
}

func (completer) refuse(ctx context.Context, fault *mcp.Error) (*mcpgo.Completion, error) {
	exchangeOf(ctx).fail(ctx, rpcFault(fault, mcpgo.INVALID_PARAMS))
	return nil, errAnswered
}
