package mcpserver_test

import (
	"regexp"
	"testing"

	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/mcp/mcpserver"
)

// Words with an underscore are names of tools, fields or values; an AI client
// acts on them, so each must exist.
func TestInstructionsNameOnlyWhatExists(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"update_required": true, "retry_of": true, "hold_on_failure": true} // the last one is a field of specs
	texts := map[string]string{"instructions": mcpserver.Instructions}
	for _, o := range api.Operations(api.Services{}) {
		known[o.Name] = true
		for name := range o.Input.Properties {
			known[name] = true
		}
		for name := range o.Output.Properties {
			known[name] = true
		}
		texts[o.Name] = o.Description
	}
	for name := range api.Components(api.Operations(api.Services{}), func(string) string { return "" })["Lease"].Properties {
		known[name] = true
	}
	for name := range api.Components(api.Operations(api.Services{}), func(string) string { return "" })["ExecOutput"].Properties {
		known[name] = true
	}
	word := regexp.MustCompile(`[a-z]+(_[a-z]+)+`)
	for where, text := range texts {
		for _, w := range word.FindAllString(text, -1) {
			if !known[w] {
				t.Errorf("%s speaks of %s, which does not exist", where, w)
			}
		}
	}
}
