package runnerctl_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

const (
	spec = "name: greeting\nimage: busybox\n"
	evil = "name: \"evil\\e[2J\\e]0;x\\a\"\nimage: busybox\n"
)

// byName runs jobs by their names: "fails" fails, all others say what they are.
func byName(ctx context.Context, work topology.Work, obs topology.Observer) topology.Result {
	if work.Spec.Name == "fails" {
		return topologytest.Exit(7, "trying", "\x1b[31mfailed\x1b[2J")(ctx, work, obs)
	}
	return topologytest.Exit(0, "hello", "\x1b[32mworld\x1b[0m", "raw \xff")(ctx, work, obs)
}

// ready is a hub with a machine that runs jobs, one of which has succeeded and one failed.
func ready(t *testing.T) (m *machine, hubURL func(name, got string), good, bad string) {
	t.Helper()
	m, h := onHub(t)
	m.executor = topologytest.NewExecutor(byName)
	m.ok("pair", "--label", "box")
	m.runner()
	if r := m.with(spec, "submit", "-", "--follow"); r.code != 0 || r.stdout != "hello\n\x1b[32mworld\x1b[0m\nraw \xff\n" {
		t.Fatalf("submit --follow: %+v", r)
	}
	if r := m.with("name: fails\nimage: busybox\n", "submit", "-", "-f"); r.code != 7 || !strings.Contains(r.stderr, "failed with exit code 7") {
		t.Fatalf("submit --follow of a job that fails: %+v", r)
	}
	list := decode[[]mcp.Job](t, m.ok("jobs", "--json"))
	if len(list) != 2 {
		t.Fatalf("jobs: %+v", list)
	}
	return m, func(name, got string) { t.Helper(); matchesGolden(t, name, got, h) }, list[1].ID, list[0].ID
}

// What each command prints, for a pipe, on a terminal and as JSON, is pinned.
func TestOutput(t *testing.T) {
	t.Parallel()
	m, golden, good, bad := ready(t)
	m.until("online\t0/1", "runners") // the hub hears of the free slot with the next poll
	logs := m.run("logs", bad)
	golden("logs.out.txt", logs.stdout)
	golden("logs.err.txt", logs.stderr)
	golden("logs.json", m.ok("logs", good, "--json"))
	golden("jobs.tsv", m.ok("jobs"))
	golden("jobs.json", m.ok("jobs", "--json", "--state", "succeeded"))
	golden("explain.txt", m.ok("explain", bad))
	golden("explain.json", m.ok("explain", bad, "--json"))
	golden("runners.tsv", m.ok("runners"))
	golden("check.txt", m.with(spec, "submit", "-", "--check").stdout)
	if r := m.with(spec, "submit", "-", "--follow", "--json"); !strings.HasPrefix(r.stdout, "{") || !strings.Contains(r.stderr, "hello") {
		t.Errorf("--follow --json: %+v", r)
	}

	m.tty = true
	golden("jobs.tty.txt", m.ok("jobs", "-n", "5", "--state", "failed"))
	golden("runners.tty.txt", m.ok("runners"))
	golden("explain.tty.txt", m.ok("explain", bad))
	golden("logs.tty.txt", m.ok("logs", bad))
	golden("check.tty.txt", m.with(spec, "submit", "-", "--check").stdout)
}

func TestLogsOfAnEndedJob(t *testing.T) {
	t.Parallel()
	m, _, good, bad := ready(t)
	if got := m.ok("logs", good, "-n", "1"); got != "raw \xff\n" {
		t.Errorf("-n 1: %q", got)
	}
	if got := m.ok("logs", good, "--grep", "^hel"); got != "hello\n" {
		t.Errorf("--grep: %q", got)
	}
	if got := m.ok("logs", good, "--stream", "system"); got != "" {
		t.Errorf("--stream system on standard output: %q", got)
	}
	if r := m.run("logs", bad, "-f"); r.code != 7 || !strings.HasPrefix(r.stdout, "trying\n") {
		t.Errorf("-f: %+v", r)
	}
	if r := m.run("logs", good, "--grep", "("); r.code != mcp.ExitUsage {
		t.Errorf("a bad expression: %+v", r)
	}
	if r := m.run("logs", good, "--timestamps"); !strings.HasPrefix(r.stdout, "20") || !strings.Contains(r.stdout, "Z hello\n") {
		t.Errorf("--timestamps: %q", r.stdout)
	}
}

func TestRetry(t *testing.T) {
	t.Parallel()
	m, _, good, bad := ready(t)
	if r := m.run("retry", bad, "--follow"); r.code != 7 {
		t.Errorf("retry --follow: %+v", r)
	}
	if r := m.run("retry", bad, "--changes", "name: works", "--follow"); r.code != 0 || !strings.HasPrefix(r.stdout, "hello\n") {
		t.Errorf("retry --changes: %+v", r)
	}
	if r := m.run("retry", bad, "--changes", "imgae: x"); r.code == 0 || !strings.Contains(r.stderr, `did you mean "image"`) {
		t.Errorf("changes that cannot be: %+v", r)
	}
	again := decode[mcp.Job](t, m.ok("retry", good, "--idempotency-key", "k", "--json"))
	if again.RetryOf != good {
		t.Errorf("the new job is a retry of %q", again.RetryOf)
	}
	if r := m.run("retry", good, "--idempotency-key", "k"); strings.TrimSpace(r.stdout) != again.ID || !strings.Contains(r.stderr, "before") {
		t.Errorf("the same key again: %+v, want %s", r, again.ID)
	}
}

func TestJobsPages(t *testing.T) {
	t.Parallel()
	m, _ := onHub(t)
	if r := m.run("jobs"); r.code != 0 || r.stdout != "" || !strings.Contains(r.stderr, "runnerctl submit") {
		t.Errorf("no jobs: %+v", r)
	}
	if got := m.ok("jobs", "--json"); got != "[]\n" {
		t.Errorf("no jobs as JSON: %q", got)
	}
	for i := range 103 {
		m.with(fmt.Sprintf("name: n%d\nimage: x\n", i), "submit", "-")
	}
	for _, n := range []int{1, 100, 103} {
		list := decode[[]mcp.Job](t, m.ok("jobs", "-n", fmt.Sprint(n+0), "--json"))
		if len(list) != n || list[0].Name != "n102" {
			t.Errorf("-n %d gave %d", n, len(list))
		}
	}
	if list := decode[[]mcp.Job](t, m.ok("jobs", "-n", "500", "--json")); len(list) != 103 {
		t.Errorf("-n 500 gave %d", len(list))
	}
}

// What others wrote must not steer the terminal of who looks at it.
func TestNamesCannotSteerTheTerminal(t *testing.T) {
	t.Parallel()
	m, _ := onHub(t)
	m.tty = true
	job := strings.TrimSpace(m.with(evil, "submit", "-").stdout)
	for _, args := range [][]string{{"jobs"}, {"explain", job}, {"cancel", job, "--reason", "\x1b[2J"}, {"explain", job}} {
		r := m.run(args...)
		if strings.ContainsAny(r.stdout+r.stderr, "\x1b\a") {
			t.Errorf("%v lets control characters through: %q", args, r.stdout)
		}
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	m, _ := onHub(t)
	started := make(chan topology.Identity, 1)
	m.executor = topologytest.NewExecutor(topologytest.Until(started, nil, "going"))
	queued := strings.TrimSpace(m.with(spec, "submit", "-").stdout)
	follower := m.start("", nil, "logs", queued, "-f")
	if got := m.ok("cancel", queued, "--reason", "no need"); !strings.Contains(got, "is canceled") {
		t.Errorf("cancel of a queued job: %q", got)
	}
	if r := follower.wait(); r.code != mcp.ExitJobCanceled {
		t.Errorf("the follower of a canceled job: %+v", r)
	}
	m.ok("pair", "--label", "box")
	m.runner()
	follower = m.start(spec, nil, "submit", "-", "--follow")
	running := (<-started).Job
	if got := m.ok("cancel", running); !strings.Contains(got, running) {
		t.Errorf("cancel of a running job: %q", got)
	}
	if r := follower.wait(); r.code != mcp.ExitJobCanceled {
		t.Errorf("the follower of a canceled job: %+v", r)
	}
	if r := m.run("cancel", running); r.code != 0 {
		t.Errorf("cancel of a canceled job: %+v", r)
	}
	if r := m.run("cancel", "job_nonsense"); r.code != mcp.ExitNotFound {
		t.Errorf("cancel of nothing: %+v", r)
	}
}

func TestInterruptedFollowerLeavesTheJob(t *testing.T) {
	t.Parallel()
	m, _ := onHub(t)
	follower := m.start(spec, nil, "submit", "-", "--follow")
	follower.awaits(t, "# job ")
	follower.signal <- struct{}{}
	r := follower.wait()
	if r.code != mcp.ExitInterrupted || !strings.Contains(r.stderr, "the job goes on") {
		t.Errorf("%+v", r)
	}
	if list := decode[[]mcp.Job](t, m.ok("jobs", "--json")); list[0].State != "queued" {
		t.Errorf("the job is %s", list[0].State)
	}
}

// A problem that stands at its line already, with its own hint, needs no further advice.
func TestASyntaxErrorIsSaidOnce(t *testing.T) {
	t.Parallel()
	m, _ := onHub(t)
	r := m.with("image: [busybox\n", "submit", "-")
	if lines := strings.Split(strings.TrimSpace(r.stderr), "\n"); r.code != mcp.ExitUsage || len(lines) != 2 ||
		!strings.HasPrefix(lines[0], "-:") || !strings.HasPrefix(lines[1], "error: the spec cannot be used: line ") {
		t.Errorf("exit code %d\n%s", r.code, r.stderr)
	}
}
