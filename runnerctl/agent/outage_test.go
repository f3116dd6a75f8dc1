package agent_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/agent"
	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

func TestSurvivesAHubThatRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		h.do(func() { h.down = true })
		r := start(t, agent.Config{Client: h, HubID: "hub-1"})
		pass(3 * time.Hour) // fake time: the hub is away that long
		h.do(func() { h.down = false })
		h.Submit("job_1", quickSpec)
		begin := time.Now()
		settled(t, h, "job_1")
		if took := time.Since(begin); took > 11*time.Second {
			t.Errorf("the runner needed %v to find the hub again", took)
		}
		r.kill()
	})
}

func TestHubRestartsWhileAJobRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		started, finish := make(chan topology.Identity), make(chan int)
		exec := topologytest.NewExecutor(topologytest.Until(started, finish, "before"))
		dir := t.TempDir()
		r := start(t, agent.Config{Client: h, Executor: exec, SpoolDir: dir})
		h.Submit("job_1", quickSpec)
		<-started
		h.do(func() { h.down = true })
		pass(20 * time.Minute) // far over the TTL; the hub takes no lease away while it is down
		finish <- 0
		pass(20 * time.Minute)
		h.do(func() { h.down = false })
		if j := settled(t, h, "job_1"); j.Results[0].Status != "succeeded" {
			t.Errorf("result %+v", j.Results[0])
		}
		pass(time.Minute) // the log may come after the report: each finds the hub again by itself
		if got := string(h.Log("job_1", 1)); got != "before\n" {
			t.Errorf("log %q", got)
		}
		wantEmptySpool(t, dir)
		r.kill()
	})
}

// A runner whose slots are all busy asks for no jobs, and still says that the hub is away.
func TestOutageIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		var log bytes.Buffer
		var states []agent.State
		started, finish := make(chan topology.Identity), make(chan int)
		r := start(t, agent.Config{
			Client: h, Executor: topologytest.NewExecutor(topologytest.Until(started, finish)), Logger: slog.New(slog.NewTextHandler(&log, nil)),
			StatusFn: func(s agent.Status) { states = append(states, s.State) },
		})
		h.Submit("job_1", quickSpec)
		<-started
		pass(time.Minute)
		h.do(func() { h.down = true })
		pass(3 * time.Minute)
		if last := states[len(states)-1]; last != agent.StateHubUnreachable {
			t.Errorf("status %s", last)
		}
		h.do(func() { h.down = false })
		pass(time.Minute)
		finish <- 0
		settled(t, h, "job_1")
		r.kill()
		if text := log.String(); strings.Count(text, "the hub does not answer") != 1 || strings.Count(text, "the hub answers again") != 1 {
			t.Errorf("logged:\n%s", text)
		}
	})
}

func TestHeartbeatsKeepTheLeaseUntilTheReportIsIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		blocked := true
		h.Before = func(_ context.Context, tool string, _ any) error {
			h.mu.Lock()
			defer h.mu.Unlock()
			if tool == mcp.ToolSubmitJobResult && blocked {
				return unavailable("the store is away")
			}
			return nil
		}
		r := start(t, agent.Config{Client: h})
		h.Submit("job_1", quickSpec)
		pass(10 * time.Minute)
		h.mu.Lock()
		beats := len(h.beats)
		h.mu.Unlock()
		if beats < 40 {
			t.Errorf("only %d heartbeats in 10 minutes", beats)
		}
		h.do(func() { blocked = false })
		settled(t, h, "job_1")
		r.kill()
	})
}

// Whatever is lost on the way, each job runs to exactly one report.
func TestEveryAnswerMayBeLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		rnd := rand.New(rand.NewPCG(1, 2))
		lose := func() bool {
			h.mu.Lock()
			defer h.mu.Unlock()
			return rnd.IntN(3) == 0
		}
		h.Before = func(context.Context, string, any) error {
			if lose() {
				return &mcp.Error{Code: mcp.CodeInternal, Message: "500"}
			}
			return nil
		}
		h.After = func(string, any) error {
			if lose() {
				return unavailable("the answer was lost")
			}
			return nil
		}
		exec := topologytest.NewExecutor(topologytest.Exit(0, "a line"))
		dir := t.TempDir()
		r := start(t, agent.Config{Client: h, Executor: exec, Slots: 3, SpoolDir: dir})
		ids := []string{"job_1", "job_2", "job_3", "job_4", "job_5", "job_6", "job_7", "job_8"}
		for _, id := range ids {
			h.Submit(id, quickSpec)
		}
		for _, id := range ids {
			if j := settled(t, h, id); len(j.Results) != 1 || j.Results[0].Status != "succeeded" || j.Attempt != 1 {
				t.Errorf("%s: %+v", id, j)
			}
		}
		pass(10 * time.Minute)
		for _, id := range ids {
			if got := string(h.Log(id, 1)); got != "a line\n" {
				t.Errorf("%s: log %q", id, got)
			}
		}
		if n := len(exec.Runs()); n != len(ids) {
			t.Errorf("%d executions for %d jobs", n, len(ids))
		}
		wantEmptySpool(t, dir)
		r.kill()
	})
}

func TestLeaseKeepsItsRequestIDOverRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		n := 0
		h.After = func(tool string, args any) error {
			if a, ok := args.(mcp.LeaseJobArgs); ok && !a.Draining && n < 3 {
				n++
				return unavailable("the answer was lost")
			}
			return nil
		}
		h.Submit("job_1", quickSpec)
		h.Submit("job_2", quickSpec)
		r := start(t, agent.Config{Client: h, HubID: "hub-1"})
		settled(t, h, "job_1")
		settled(t, h, "job_2")
		r.kill()
		if h.Job("job_1").Attempt != 1 || h.Job("job_2").Attempt != 1 {
			t.Error("a lease was lost")
		}
		ids := map[string]int{}
		for _, p := range h.Polls() {
			ids[p.RequestID]++
		}
		if ids[h.Polls()[0].RequestID] != 4 {
			t.Errorf("the first request was made %d times, want 4", ids[h.Polls()[0].RequestID])
		}
	})
}

func TestLateLeaseIsNotBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		exec := &topologytest.Executor{}
		first := true
		// The answer arrives after the hub has taken the lease away again (a laptop
		// that slept): the first heartbeat tells.
		h.After = func(tool string, args any) error {
			if tool == mcp.ToolLeaseJob && first && !args.(mcp.LeaseJobArgs).Draining {
				first = false
				h.do(func() { h.jobs["job_1"].Lease = nil })
			}
			return nil
		}
		h.Submit("job_1", quickSpec)
		r := start(t, agent.Config{Client: h, Executor: exec, HubID: "hub-1"})
		pass(time.Minute)
		if len(exec.Runs()) != 0 {
			t.Error("a lease that was taken away was run")
		}
		r.kill()
	})
}

func TestDeadlineKillsWhenTheHubIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		h.Lease = func(l *mcp.Lease) { l.DeadlineMS = 60_000 }
		started := make(chan topology.Identity)
		cause := make(chan error, 1)
		exec := topologytest.NewExecutor(func(ctx context.Context, work topology.Work, _ topology.Observer) topology.Result {
			started <- work.Identity
			<-ctx.Done()
			cause <- context.Cause(ctx)
			return topologytest.Ended(ctx)
		})
		r := start(t, agent.Config{Client: h, Executor: exec})
		h.Submit("job_1", quickSpec)
		<-started
		begin := time.Now()
		h.do(func() { h.down = true })
		if err := <-cause; !errors.Is(err, topology.ErrStale) || time.Since(begin) > 61*time.Second {
			t.Errorf("cause %v after %v", err, time.Since(begin))
		}
		r.kill()
	})
}

func TestResultThatTheHubRefusesBecomesAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		h.Before = func(_ context.Context, tool string, _ any) error {
			if tool == mcp.ToolSubmitJobResult {
				return &mcp.Error{Code: mcp.CodeTooLarge, Message: "the result is too large"}
			}
			return nil
		}
		r := start(t, agent.Config{Client: h})
		h.Submit("job_1", quickSpec)
		if j := settled(t, h, "job_1"); len(j.Fails) != 1 || j.Fails[0].Class != "internal" {
			t.Errorf("reports %+v", j.Fails)
		}
		r.kill()
	})
}

func TestIdlePollsAreHeldAndSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		r := start(t, agent.Config{Client: h, HubID: "hub-1"})
		pass(10 * time.Minute)
		r.kill()
		waits := map[int64]bool{}
		n := 0
		for _, p := range h.Polls() {
			if p.Draining {
				continue
			}
			n++
			waits[p.WaitMS] = true
			if p.WaitMS < 20_000 || p.WaitMS > mcp.MaxWait {
				t.Errorf("a poll waits %d ms", p.WaitMS)
			}
		}
		if n < 24 || n > 32 || len(waits) < n/2 {
			t.Errorf("%d polls in 10 minutes with %d different waits", n, len(waits))
		}
	})
}
