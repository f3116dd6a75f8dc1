package mcpserver

import (
	"encoding/json"
	"net/http"
	"strings"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/runnerhub/runnerhub/mcp"
)

// success is a result: its value for programs, one line for whoever sees text
// alone, and where it leads to. A client from before structured content, which came together with links, gets the value as text too.
func success(value any, summary string, links []mcp.Resource, structured bool) *mcpgo.CallToolResult {
	r := &mcpgo.CallToolResult{
		Content:           []mcpgo.Content{mcpgo.NewTextContent(summary)},
		StructuredContent: value,
	}
	if !structured {
		if raw, err := json.Marshal(value); err == nil {
			r.Content = append(r.Content, mcpgo.NewTextContent(string(raw)))
		}
		return r
	}
	for _, l := range links {
		r.Content = append(r.Content, linkTo(l))
	}
	return r
}

// firstStructured is the first revision with structured content; revisions are
// dates, so they compare as text. It is also the first that names itself in a header.
const firstStructured = "2025-06-18"

func readsStructured(h http.Header) bool {
	return h.Get(mcpgo.HeaderProtocolVersion) >= firstStructured
}

// failure is an error as a tool tells it. It has no structured content: at least
// one SDK holds that against the output schema of a success and throws.
func failure(e *mcp.Error) *mcpgo.CallToolResult {
	meta := map[string]any{"code": e.Code, "message": e.Message, "retryable": e.Retryable}
	if e.Hint != "" {
		meta["hint"] = e.Hint
	}
	if e.RetryAfterMS > 0 {
		meta["retry_after_ms"] = e.RetryAfterMS
	}
	if len(e.Details) > 0 {
		meta["details"] = e.Details
	}
	r := &mcpgo.CallToolResult{
		Content: []mcpgo.Content{mcpgo.NewTextContent(failureText(e))},
		IsError: true,
	}
	r.Meta = &mcpgo.Meta{AdditionalFields: meta}
	return r
}

// maxDetails is how much of an error's details its text repeats. Clients cut
// error text near 11,000 characters.
const maxDetails = 6000

func failureText(e *mcp.Error) string {
	var b strings.Builder
	b.WriteString(string(e.Code) + ": " + e.Message)
	if e.Hint != "" {
		b.WriteString("\nHint: " + e.Hint)
	}
	if len(e.Details) > 0 {
		if raw, err := json.Marshal(e.Details); err == nil && len(raw) <= maxDetails && !told(raw, e.Message) {
			b.WriteString("\nDetails: " + string(raw))
		}
	}
	return b.String()
}

// told says whether details are one fault alone, which the message has told.
func told(details []byte, message string) bool {
	var d map[string]json.RawMessage
	if json.Unmarshal(details, &d) != nil || len(d) != 1 {
		return false
	}
	for name, raw := range d {
		var faults []struct{ Message string }
		if name != "fields" && name != "problems" || json.Unmarshal(raw, &faults) != nil ||
			len(faults) != 1 || !strings.Contains(message, faults[0].Message) {
			return false
		}
	}
	return true
}
