package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/google/jsonschema-go/jsonschema"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/mcp"
)

// Tool describes an operation in MCP's terms. Both schemas are raw: mcp-go
// empties the whole list when a tool has a raw and a structured one.
func Tool(o *api.Operation) mcpgo.Tool {
	return mcpgo.Tool{
		Name:            o.Name,
		Title:           o.Title,
		Description:     o.Description,
		RawInputSchema:  mustJSON(o.Name, arguments(o)),
		RawOutputSchema: mustJSON(o.Name, outline(o.Output)),
		Annotations:     annotations(o.Hints),
	}
}

// annotations sets all hints that mean something: what is left out counts as destructive and open to the world. Whether a
// tool that only reads is destructive or idempotent nobody asks.
func annotations(h api.Hints) mcpgo.ToolAnnotation {
	a := mcpgo.ToolAnnotation{ReadOnlyHint: &h.ReadOnly, OpenWorldHint: &h.OpenWorld}
	if !h.ReadOnly {
		a.DestructiveHint, a.IdempotentHint = &h.Destructive, &h.Idempotent
	}
	return a
}

// arguments is the schema of an operation's arguments as a model reads it.
func arguments(o *api.Operation) *jsonschema.Schema {
	s := terse(o.Input)
	for _, name := range o.Described {
		s.Properties[name].Description = ""
	}
	return s
}

func mustJSON(tool string, schema any) json.RawMessage {
	raw, err := json.Marshal(schema)
	if err != nil {
		panic(fmt.Sprintf("mcpserver: schema of %s: %v", tool, err))
	}
	return raw
}

// handler calls an operation. It never returns a Go error: mcp-go would show it
// to the client word for word.
func handler(o *api.Operation, lib *api.Library, log *slog.Logger) server.ToolHandlerFunc {
	return func(ctx context.Context, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		args := req.Params.RawArguments
		if meta := req.Params.Meta; meta != nil && meta.ProgressToken != nil {
			ctx = exchangeOf(ctx).withProgress(ctx, meta.ProgressToken)
		}
		value, summary, fault := o.Call(ctx, log, api.PrincipalFrom(ctx), args)
		if value == nil && fault == nil { // the call is parked, and what is said here is thrown away
			return &mcpgo.CallToolResult{}, nil
		}
		if fault != nil {
			return failure(fault), nil
		}
		if o.Name == mcp.ToolSubmitJob && offerTask(ctx, lib, value) {
			return nil, errAnswered
		}
		return success(value, summary, o.Links(value), readsStructured(req.Header)), nil
	}
}

// visibility says which tools a caller sees: those of its audience that are in the view it asked for and in its key's scope.
func visibility(ops []api.Operation) func(ctx context.Context, tool string) bool {
	byName := map[string]*api.Operation{}
	for i := range ops {
		byName[ops[i].Name] = &ops[i]
	}
	return func(ctx context.Context, tool string) bool {
		o := byName[tool]
		if o == nil || o.HTTPOnly {
			return false
		}
		visible, _ := o.Visible(api.PrincipalFrom(ctx), api.ViewFrom(ctx))
		return visible
	}
}

// filter shows each caller the tools that it sees, and the answer to a call of any other; mcp-go applies it to lists and calls
// alike.
func filter(sees func(ctx context.Context, tool string) bool) server.ToolFilterFunc {
	return func(ctx context.Context, tools []mcpgo.Tool) []mcpgo.Tool {
		visible := make([]mcpgo.Tool, 0, len(tools))
		m := misnamedFrom(ctx)
		for _, t := range tools {
			if sees(ctx, t.Name) || t.Name == unknownTool && m != nil && m.name != "" {
				visible = append(visible, t)
			}
		}
		return visible
	}
}
