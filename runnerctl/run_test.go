package runnerctl_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// busy is a machine that runs one job, which ends when a code is sent to finish.
func busy(t *testing.T, flags ...string) (m *machine, runner *going, job string, finish chan int) {
	t.Helper()
	m, _ = onHub(t)
	started := make(chan topology.Identity, 1)
	finish = make(chan int, 1)
	m.executor = topologytest.NewExecutor(topologytest.Until(started, finish, "going"))
	m.ok("pair", "--label", "box")
	runner = m.runner(flags...)
	m.with(spec, "submit", "-")
	return m, runner, (<-started).Job, finish
}

func (m *machine) stateOf(job string) string {
	m.t.Helper()
	for _, j := range decode[[]mcp.Job](m.t, m.ok("jobs", "--json")) {
		if j.ID == job {
			return j.State
		}
	}
	return ""
}

func TestTheFirstSignalDrains(t *testing.T) {
	t.Parallel()
	m, runner, job, finish := busy(t)
	runner.signal <- struct{}{}
	runner.awaits(t, "draining")
	finish <- 0
	if r := runner.wait(); r.code != 0 {
		t.Errorf("%+v", r)
	}
	if state := m.stateOf(job); state != "succeeded" {
		t.Errorf("the job is %s", state)
	}
}

func TestTheSecondSignalGivesTheJobBack(t *testing.T) {
	t.Parallel()
	m, runner, job, _ := busy(t)
	runner.signal <- struct{}{}
	runner.signal <- struct{}{}
	if r := runner.wait(); r.code != 0 || !strings.Contains(r.stderr, "giving them back") {
		t.Errorf("%+v", r)
	}
	if state := m.stateOf(job); state != "queued" {
		t.Errorf("the job is %s", state)
	}
}

func TestADrainThatTakesTooLongGivesTheJobBack(t *testing.T) {
	t.Parallel()
	m, runner, job, _ := busy(t, "--drain-timeout", "1ms")
	runner.signal <- struct{}{}
	if r := runner.wait(); r.code != 0 {
		t.Errorf("%+v", r)
	}
	if state := m.stateOf(job); state != "queued" {
		t.Errorf("the job is %s", state)
	}
}

func TestOnce(t *testing.T) {
	t.Parallel()
	m, _ := onHub(t)
	m.ok("pair")
	for range 2 {
		m.with(spec, "submit", "-")
	}
	m.ok("run", "--once")
	if n := len(m.executor.(*topologytest.Executor).Runs()); n != 1 {
		t.Errorf("it ran %d jobs", n)
	}
}

func TestOneRunnerAProfile(t *testing.T) {
	t.Parallel()
	m, _, _, _ := busy(t)
	m.executor = &topologytest.Executor{} // as another process would have its own
	if r := m.run("run"); r.code != mcp.ExitConflict || !strings.Contains(r.stderr, "--slots") {
		t.Errorf("%+v", r)
	}
}

func TestRunWithoutAnEngine(t *testing.T) {
	t.Parallel()
	m, _ := onHub(t)
	m.ok("pair")
	r := m.start("", func(f *cmdutil.Factory) {
		f.NewExecutor = func(context.Context) (topology.Executor, error) {
			return nil, &topology.EngineError{Kind: topology.KindUnavailable, Op: "connect", Err: errors.New("no socket")}
		}
	}, "run").wait()
	if r.code != mcp.ExitUnavailable || !strings.Contains(r.stderr, "no socket") || !strings.Contains(r.stderr, "DOCKER_HOST") {
		t.Errorf("%+v", r)
	}
}

func TestRunSaysWhatIsWrongWithItsFlags(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for _, args := range [][]string{{"--log-level", "loud"}, {"--log-format", "xml"}, {"--subnets", "10.0.0.0"}, {"--subnets", "fd00::/64"}, {"--subnets", "10.0.0.0/30"}, {"--subnets", "10.0.0.0/16,x"}} {
		if r := m.run(append([]string{"run"}, args...)...); r.code != mcp.ExitUsage || !strings.Contains(r.stderr, args[0]) {
			t.Errorf("%v: %+v", args, r)
		}
	}
}
