package mcpserver

import (
	"context"
	"fmt"
	"slices"
	"strings"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/mcp"
)

// prompt is a task that people start by its name: an order of steps, each with the tool that it needs.
type prompt struct {
	name, title, description string
	args                     []promptArg
	needs                    string // tool without which the task cannot be done
	begin                    func(args map[string]string) string
	steps                    func(args map[string]string) []step
	end                      string
}

// promptArg is an argument; words is what it is completed with, "" for nothing.
type promptArg struct {
	name, description string
	required          bool
	words             api.Words
}

// step is left out for a caller who does not see its tool; "" is for everybody.
type step struct{ needs, text string }

// addPrompts serves the prompts, each to those who can do its task.
func addPrompts(s *server.MCPServer, lib *api.Library) {
	for i := range prompts {
		p := &prompts[i]
		made := mcpgo.Prompt{Name: p.name, Title: p.title, Description: p.description}
		for _, a := range p.args {
			made.Arguments = append(made.Arguments, mcpgo.PromptArgument{Name: a.name, Description: a.description, Required: a.required})
		}
		s.AddPrompt(made, getPrompt(p, lib))
	}
}

// promptFilter shows each caller the prompts whose tools it sees; mcp-go applies it to lists and reads alike.
func promptFilter(lib *api.Library) server.PromptFilterFunc {
	return func(ctx context.Context, all []mcpgo.Prompt) []mcpgo.Prompt {
		return slices.DeleteFunc(slices.Clone(all), func(made mcpgo.Prompt) bool {
			return !lib.Sees(ctx, promptOf(made.Name).needs)
		})
	}
}

// promptOf finds a prompt of the table by its name.
func promptOf(name string) *prompt {
	i := slices.IndexFunc(prompts, func(p prompt) bool { return p.name == name })
	if i < 0 {
		return nil
	}
	return &prompts[i]
}

func getPrompt(p *prompt, lib *api.Library) server.PromptHandlerFunc {
	return func(ctx context.Context, req mcpgo.GetPromptRequest) (*mcpgo.GetPromptResult, error) {
		text, fault := p.text(ctx, lib, req.Params.Arguments)
		if fault != nil {
			exchangeOf(ctx).fail(ctx, rpcFault(fault, mcpgo.INVALID_PARAMS))
			return nil, errAnswered
		}
		return &mcpgo.GetPromptResult{
			Description: p.description,
			Messages:    []mcpgo.PromptMessage{{Role: mcpgo.RoleUser, Content: mcpgo.NewTextContent(text)}},
		}, nil
	}
}

// maxPromptArg is the most bytes of an argument; it is repeated in the text.
const maxPromptArg = 4 << 10

// text is the prompt with its arguments filled in. A job that it is about must be one that the caller may see.
func (p *prompt) text(ctx context.Context, lib *api.Library, args map[string]string) (string, *mcp.Error) {
	for _, a := range p.args {
		switch {
		case a.required && args[a.name] == "":
			return "", badPrompt("%s needs %s: %s", p.name, a.name, a.description)
		case len(args[a.name]) > maxPromptArg:
			return "", badPrompt("%s has %d bytes and may have %d", a.name, len(args[a.name]), maxPromptArg)
		}
	}
	var b strings.Builder
	b.WriteString(p.begin(args))
	if id := args["job_id"]; id != "" {
		line, fault := lib.JobLine(ctx, id)
		if fault != nil {
			return "", fault
		}
		b.WriteString(" How it stands: " + line)
	}
	b.WriteString("\n\n")
	n := 0
	for _, s := range p.steps(args) {
		if s.needs == "" || lib.Sees(ctx, s.needs) {
			n++
			fmt.Fprintf(&b, "%d. %s\n", n, s.text)
		}
	}
	b.WriteString("\n" + p.end)
	return b.String(), nil
}

func badPrompt(format string, args ...any) *mcp.Error {
	return &mcp.Error{Code: mcp.CodeInvalidArgument, Message: fmt.Sprintf(format, args...), Hint: "prompts/list has the arguments of each prompt"}
}
