//go:build clients

package clients_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/mcp"
)

// TestInspector has MCP's Inspector list the tools of both kinds of callers, strict about their schemas, and call some, in
// both eras.
func TestInspector(t *testing.T) {
	t.Parallel()
	programs := node(t)
	h := startHub(t)
	person, runner := h.key, h.pair(t)
	for _, era := range []string{"legacy", "modern"} {
		for name, tc := range map[string]struct {
			token, want string
			args        []string
		}{
			"a person's tools":       {person, `"name": "submit_job"`, []string{"--method", "tools/list", "--strict"}},
			"a runner's tools":       {runner, `"name": "lease_job"`, []string{"--method", "tools/list", "--strict"}},
			"whoami":                 {person, `"login": "admin"`, call(mcp.ToolWhoami)},
			"submit_job":             {person, `"state": "queued"`, call(mcp.ToolSubmitJob, `spec={"image":"busybox","command":["true"]}`)},
			"check_job of a mistake": {person, `"valid": false`, call(mcp.ToolCheckJob, `spec={"image":"busybox","comand":["true"]}`)},
			"lease_job":              {runner, `"structuredContent"`, call(mcp.ToolLeaseJob, "request_id=r-"+era, "protocol=1", "wait_ms=1")},
		} {
			if era == "modern" && name == "submit_job" {
				continue // it takes a task there, and stays until the job has ended, which no runner brings about
			}
			t.Run(era+" "+name, func(t *testing.T) {
				t.Parallel()
				args := append([]string{"--cli", h.url + "/mcp", "--transport", "http", "--header", "Authorization: Bearer " + tc.token, "--protocol-era", era}, tc.args...)
				stdout, stderr, failed := programs.run(t, "mcp-inspector", args...)
				if failed || !json.Valid([]byte(stdout)) || !strings.Contains(stdout, tc.want) || strings.Contains(stdout, `"isError": true`) {
					t.Errorf("%v, want %s\n%.3000s\n%s", failed, tc.want, stdout, stderr)
				}
			})
		}
	}
}

func call(tool string, args ...string) []string {
	words := []string{"--method", "tools/call", "--tool-name", tool}
	for _, a := range args {
		words = slices.Concat(words, []string{"--tool-arg", a})
	}
	return words
}
