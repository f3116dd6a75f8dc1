//go:build clients

package clients_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/topology"
)

// spec is a job that a shell runs.
func spec(name, script string) map[string]any {
	return map[string]any{"name": name, "image": "runnerhub/busybox:local", "command": []string{"sh", "-c", script}}
}

// gated writes two lines, waits until the test opens its gate, and writes two more.
const gated = "echo line 1; echo line 2; until [ -e /tmp/gate ]; do sleep 0.1; done; " +
	"mkdir out && echo it works > out/report.txt; echo line 3; echo line 4"

var gatedLines = []string{"line 1", "line 2", "line 3", "line 4"}

// openGate lets a gated job that runs go on.
func openGate(t *testing.T, job string) {
	t.Helper()
	found, err := exec.CommandContext(t.Context(), "docker", "ps", "--quiet", "--filter", "label="+topology.LabelJob+"="+job,
		"--filter", "label="+topology.LabelRole+"="+topology.RoleJob).Output()
	if err != nil {
		t.Fatal(err)
	}
	container := strings.TrimSpace(string(found))
	if out, err := exec.CommandContext(t.Context(), "docker", "exec", container, "touch", "/tmp/gate").CombinedOutput(); err != nil {
		t.Fatalf("%q: %v: %s", container, err, out)
	}
}

// log is what a client has read of a job's log, and where it reads on.
type log struct {
	job    string
	cursor string
	lines  []string // that the job's program wrote
}

// waitArgs are those of a wait for what comes next.
func (l *log) waitArgs(follow string) map[string]any {
	args := map[string]any{"job_id": l.job, "wait_ms": mcp.MaxWait, "follow": follow}
	if l.cursor != "" {
		args["cursor"] = l.cursor
	}
	return args
}

// reads waits for what comes next, until enough has been said.
func (a *agent) reads(l *log, enough func(mcp.WaitJobResult) bool) mcp.WaitJobResult {
	a.t.Helper()
	for {
		var now mcp.WaitJobResult
		a.do(mcp.ToolWaitJob, l.waitArgs("change"), &now)
		l.cursor = now.NextCursor
		for _, line := range now.Lines {
			if line.Stream == "stdout" && strings.HasPrefix(line.Text, "line ") {
				l.lines = append(l.lines, line.Text)
			}
		}
		if now.Done || enough(now) {
			return now
		}
	}
}

// readsToTheEnd waits for the job's end.
func (a *agent) readsToTheEnd(l *log) mcp.WaitJobResult {
	a.t.Helper()
	return a.reads(l, func(mcp.WaitJobResult) bool { return false })
}

// readsToTheGate waits until a gated job is there.
func (a *agent) readsToTheGate(l *log) {
	a.t.Helper()
	if now := a.reads(l, func(mcp.WaitJobResult) bool { return len(l.lines) >= 2 }); now.Done {
		a.t.Fatalf("the job has ended before its gate: %+v", now)
	}
}

// goesOn wants a job that runs and that nobody cancels, as another client sees it, and this client to be as good as before.
func (a *agent) goesOn(job string) {
	a.t.Helper()
	a.do(mcp.ToolWhoami, map[string]any{}, &mcp.WhoamiResult{})
	got, err := a.witness.GetJob(a.t.Context(), mcp.JobRef{JobID: job})
	if err != nil || got.Job.State != "running" || got.Job.Canceling {
		a.t.Errorf("the job is %s, canceling %v, %v", got.Job.State, got.Job.Canceling, err)
	}
}
