package mcpserver_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/hub/web"
	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpserver"
)

// Other people's programs, pinned.
const (
	node        = "node@22"
	conformance = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
	inspector   = "@modelcontextprotocol/inspector@2.12.0"
)

// outcome is what one command came to.
type outcome struct {
	stdout string
	failed bool
}

// npx runs commands that a package of the npm registry brings, all in one go:
// npm itself takes longer than they do.
func npx(t *testing.T, pkg string, commands [][]string) []outcome {
	t.Helper()
	path, err := exec.LookPath("npx")
	if err != nil {
		t.Fatal("MCP's own conformance suite and Inspector come from npm; bring npx with: apt-get install npm")
	}
	const end = "\n=== end "
	var script strings.Builder
	for _, words := range commands {
		for _, w := range words {
			script.WriteString("'" + strings.ReplaceAll(w, "'", `'\''`) + "' ")
		}
		script.WriteString("\nprintf '" + strings.ReplaceAll(end, "\n", `\n`) + "%s\\n' $?\n")
	}
	command := exec.CommandContext(t.Context(), path, "--yes", "--loglevel=error", "-p", node, "-p", pkg, "-c", script.String())
	command.Dir = t.TempDir()
	command.WaitDelay = 10 * time.Second
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	parts := strings.Split(string(out), end)
	if err != nil || len(parts) != len(commands)+1 {
		t.Fatalf("%s: %v\n%s\n%s", pkg, err, out, stderr.String())
	}
	outcomes := make([]outcome, len(commands))
	for i := range commands {
		code, _, _ := strings.Cut(parts[i+1], "\n")
		outcomes[i].failed = code != "0"
		if i == 0 {
			outcomes[i].stdout = parts[i]
			continue
		}
		_, outcomes[i].stdout, _ = strings.Cut(parts[i], "\n")
	}
	if t.Failed() || slices.ContainsFunc(outcomes, func(o outcome) bool { return o.failed }) {
		t.Log(stderr.String())
	}
	return outcomes
}

// The suite cannot send a token, so everybody is let in here.
func serveWithoutTokens(t *testing.T) string {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	jobs := &fakeJobs{get: func(_ context.Context, id string) (dispatch.JobView, error) { return job(id) }}
	services := api.Services{Jobs: jobs, Roster: fakeRoster{}, Accounts: fakeAccounts{}}
	ops := api.Operations(services)
	door := web.New(web.Options{Operations: ops, Auth: fakeAuth{}, MCP: mcpserver.New(ops, api.NewLibrary(services, ops, log), log), Log: log})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+personToken)
		door.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return strings.Replace(s.URL, "127.0.0.1", "localhost", 1) + web.MCPPath
}

func TestConformance(t *testing.T) {
	t.Parallel()
	url := serveWithoutTokens(t)
	var commands [][]string
	for _, tc := range []struct{ scenario, version string }{
		{"server-initialize", "2025-11-25"},
		{"ping", "2025-11-25"},
		{"tools-list", "2025-11-25"},
		{"tools-list", "2026-07-28"},
		{"http-header-validation", "2026-07-28"},
		{"dns-rebinding-protection", "2025-11-25"},
	} {
		commands = append(commands, []string{"conformance", "server", "--url", url, "--scenario", tc.scenario, "--spec-version", tc.version})
	}
	for i, got := range npx(t, conformance, commands) {
		if got.failed || !strings.Contains(got.stdout, "Passed") {
			t.Errorf("%v:\n%s", commands[i], got.stdout)
		}
	}
}

func TestInspector(t *testing.T) {
	t.Parallel()
	url := serve(t, &fakeJobs{})
	var commands [][]string
	var wants []string
	add := func(token, want string, args ...string) {
		commands = append(commands, append([]string{"mcp-inspector", "--cli", url, "--transport", "http", "--header", "Authorization: Bearer " + token}, args...))
		wants = append(wants, want)
	}
	add(personToken, `"name": "submit_job"`, "--method", "tools/list", "--strict")
	add(runnerToken, `"name": "lease_job"`, "--method", "tools/list", "--strict")
	for _, era := range []string{"legacy", "modern"} {
		add(personToken, `"structuredContent"`, "--protocol-era", era, "--method", "tools/call", "--tool-name", mcp.ToolGetJob, "--tool-arg", "job_id=job_1")
		add(runnerToken, `"lse_1"`, "--protocol-era", era, "--method", "tools/call", "--tool-name", mcp.ToolLeaseJob, "--tool-arg", "request_id=r", "--tool-arg", "protocol=1")
	}
	for i, got := range npx(t, inspector, commands) {
		if got.failed || !json.Valid([]byte(got.stdout)) || !strings.Contains(got.stdout, wants[i]) {
			t.Errorf("%v:\n%.3000s", commands[i], got.stdout)
		}
	}
}
