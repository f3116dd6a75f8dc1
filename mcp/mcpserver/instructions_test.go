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
	texts := map[string]string{"instructions": mcpserver.Instructions}
	for _, o := range api.Operations(api.Services{}) {
		texts[o.Name] = o.Description
	}
	known := knownWords()
	for where, text := range texts {
		for _, w := range unknownWords(text, known) {
			t.Errorf("%s speaks of %s, which does not exist", where, w)
		}
	}
}

// knownWords are the names that there are.
func knownWords() map[string]bool {
	known := map[string]bool{"update_required": true, "retry_of": true, "hold_on_failure": true} // the last one is a field of specs
	ops := api.Operations(api.Services{})
	for _, o := range ops {
		known[o.Name] = true
		for name := range o.Input.Properties {
			known[name] = true
		}
		for name := range o.Output.Properties {
			known[name] = true
		}
	}
	components := api.Components(ops, func(string) string { return "" })
	for _, nested := range []string{"Lease", "ExecOutput"} {
		for name := range components[nested].Properties {
			known[name] = true
		}
	}
	return known
}

var underscored = regexp.MustCompile(`[a-z]+(_[a-z]+)+`)

func unknownWords(text string, known map[string]bool) (unknown []string) {
	for _, w := range underscored.FindAllString(text, -1) {
		if !known[w] {
			unknown = append(unknown, w)
		}
	}
	return unknown
}
