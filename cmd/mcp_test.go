package cmd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/runnerhub/runnerhub/hub/server"
	"github.com/runnerhub/runnerhub/hub/server/servertest"
	"github.com/runnerhub/runnerhub/mcp"
)

// TestMCPOverStdio is an AI client, the official one, that starts the real program and reaches a real hub through it,
// in both eras of MCP.
func TestMCPOverStdio(t *testing.T) {
	t.Parallel()
	for name, revision := range map[string]string{"with a handshake": "2025-11-25", "without one": "2026-07-28"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub := servertest.Start(t, nil)
			waits := make(chan context.Context, 1)
			a := newAgent(t, watched(t, hub.URL, waits), hub.AdminKey(t), revision)
			if got := a.session.InitializeResult().ProtocolVersion; got != revision {
				t.Errorf("client and hub speak %s, want %s", got, revision)
			}
			tools, err := a.session.ListTools(t.Context(), nil)
			if err != nil || len(tools.Tools) == 0 {
				t.Fatalf("tools: %+v, %v", tools, err)
			}
			var job mcp.SubmitJobResult
			a.call(mcp.ToolSubmitJob, map[string]any{"spec": "image: busybox\ncommand: [\"true\"]"}, &job)
			var now mcp.WaitJobResult
			a.call(mcp.ToolWaitJob, map[string]any{"job_id": job.Job.ID, "wait_ms": 0}, &now)
			if now.State != "queued" {
				t.Errorf("the job is %s, want queued", now.State)
			}
			<-waits
			a.givesUpAWait(job.Job.ID, now.NextCursor, waits)

			// The hub goes, and another process of it comes back at the same address while the client calls.
			at, err := url.Parse(hub.URL)
			if err != nil {
				t.Fatal(err)
			}
			direct := newAgent(t, hub.URL, hub.AdminKey(t), revision)
			direct.call(mcp.ToolWhoami, nil, nil) // and so holds a connection
			if err := hub.Stop(); err != nil {
				t.Fatal(err)
			}
			asked := make(chan error, 1)
			go func() {
				_, err := direct.session.CallTool(t.Context(), &sdk.CallToolParams{Name: mcp.ToolGetJob, Arguments: map[string]any{"job_id": job.Job.ID}})
				asked <- err
			}()
			servertest.Start(t, func(s *server.Settings) { s.Addr, s.Data = at.Host, hub.Data })
			if err := <-asked; err != nil {
				t.Errorf("a call while the hub was away: %v", err)
			}
			direct.call(mcp.ToolGetJob, map[string]any{"job_id": job.Job.ID}, &job)
			for _, a := range []*agent{a, direct} {
				a.leave()
			}
		})
	}
}

// watched is a hub's address that tells of each wait_job, with a context that ends when its caller leaves.
func watched(t *testing.T, hub string, waits chan<- context.Context) string {
	t.Helper()
	to, err := url.Parse(hub)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte(`"`+mcp.ToolWaitJob+`"`)) {
			waits <- r.Context()
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	return front.URL
}

// agent is an AI client with the program that it has started.
type agent struct {
	t       *testing.T
	cmd     *exec.Cmd
	stderr  lockedBuffer
	session *sdk.ClientSession
}

func newAgent(t *testing.T, hub, key, revision string) *agent {
	t.Helper()
	a := &agent{t: t}
	home := t.TempDir()
	env := append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home+"/config", "XDG_STATE_HOME="+home+"/state",
		"DBUS_SESSION_BUS_ADDRESS=unix:path="+home+"/no-bus", "RUNNERCTL_HUB=", "RUNNERCTL_API_KEY=")
	login := exec.CommandContext(t.Context(), "runnerctl", "login", "--hub", hub, "--api-key-stdin", "--insecure-storage")
	login.Env, login.Stdin = env, strings.NewReader(key)
	if out, err := login.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	a.cmd = exec.Command("runnerctl", "mcp")
	a.cmd.Env, a.cmd.Stderr = env, &a.stderr
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the program said:\n%s", &a.stderr)
		}
	})
	var err error
	a.session, err = sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&sdk.CommandTransport{Command: a.cmd, TerminateDuration: patience}, &sdk.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatalf("%v; the program said:\n%s", err, &a.stderr)
	}
	return a
}

// call calls a tool, which must succeed.
func (a *agent) call(tool string, args map[string]any, out any) {
	a.t.Helper()
	if args == nil {
		args = map[string]any{}
	}
	ctx, cancel := context.WithTimeout(a.t.Context(), patience)
	defer cancel()
	res, err := a.session.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil || res.IsError {
		a.t.Fatalf("%s: %+v, %v; the program said:\n%s", tool, res, err, &a.stderr)
	}
	if out == nil {
		return
	}
	raw, err := json.Marshal(res.StructuredContent)
	if err == nil {
		err = json.Unmarshal(raw, out)
	}
	if err != nil {
		a.t.Fatal(err)
	}
}

// givesUpAWait cancels a wait that the hub holds: the hub sees its caller leave long before the wait's time, and the
// session goes on.
func (a *agent) givesUpAWait(jobID, cursor string, waits <-chan context.Context) {
	a.t.Helper()
	ctx, cancel := context.WithCancel(a.t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := a.session.CallTool(ctx, &sdk.CallToolParams{
			Name: mcp.ToolWaitJob, Arguments: map[string]any{"job_id": jobID, "cursor": cursor, "wait_ms": mcp.MaxWait, "follow": "end"},
		})
		ended <- err
	}()
	held := <-waits
	begun := time.Now()
	a.call(mcp.ToolWhoami, nil, nil) // the held one is in nobody's way
	cancel()
	select {
	case <-held.Done():
	case <-time.After(patience):
		a.t.Fatal("the hub never saw its caller leave")
	}
	if took := time.Since(begun); took > mcp.MaxWait*time.Millisecond/2 {
		a.t.Errorf("the caller left after %s, most likely with its answer", took)
	}
	if err := <-ended; err == nil {
		a.t.Error("the call that was canceled succeeded")
	}
	a.call(mcp.ToolWhoami, nil, nil)
}

// leave ends the session as a client does, by closing the program's input; the program ends with 0.
func (a *agent) leave() {
	a.t.Helper()
	if err := a.session.Close(); err != nil {
		a.t.Errorf("the program ended with %v; it said:\n%s", err, &a.stderr)
	}
	if code := a.cmd.ProcessState.ExitCode(); code != 0 {
		a.t.Errorf("exit code %d, want 0", code)
	}
}
