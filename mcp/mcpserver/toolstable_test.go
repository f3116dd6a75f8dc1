package mcpserver_test

import (
	"fmt"
	"strings"

	"github.com/runnerhub/runnerhub/hub/api"
)

// The lines of the README between which the table stands.
const (
	tableBegin = "<!-- tools:begin -->"
	tableEnd   = "<!-- tools:end -->"
)

// toolsTable is the tools as a Markdown table, one for each audience.
func toolsTable(ops []api.Operation) string {
	var b strings.Builder
	for _, part := range []struct {
		audience api.Audience
		title    string
	}{
		{api.People, "For people and agents, with an API key:"},
		{api.Runner, "For runners, with a runner's token:"},
	} {
		fmt.Fprintf(&b, "%s\n\n| tool | what it does | changes | HTTP twin |\n|---|---|---|---|\n", part.title)
		for _, o := range ops {
			if o.HTTPOnly || o.Audience != part.audience {
				continue
			}
			fmt.Fprintf(&b, "| [`%s`](docs/tools/%s.md) | %s | %s | `%s %s%s` |\n", o.Name, o.Name, o.Title, changes(o.Hints), o.Route.Method, api.Base, o.Route.Path)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func changes(h api.Hints) string {
	switch {
	case h.ReadOnly:
		return "nothing"
	case h.Destructive:
		return "ends something"
	case h.OpenWorld:
		return "runs code on a machine"
	default:
		return "the hub's state"
	}
}

// withTable replaces what stands between the marker lines of a document. ok is
// false when they are not there.
func withTable(document, table string) (changed string, ok bool) {
	before, rest, found := strings.Cut(document, tableBegin+"\n")
	_, after, ended := strings.Cut(rest, tableEnd)
	if !found || !ended {
		return document, false
	}
	return before + tableBegin + "\n" + table + tableEnd + after, true
}
