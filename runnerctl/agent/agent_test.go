package agent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/agent"
	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

func TestMain(m *testing.M) {
	if child() {
		return
	}
	goleak.VerifyTestMain(m)
}

// running is a runner under test.
type running struct {
	*agent.Agent
	t      *testing.T
	cancel context.CancelFunc
	done   chan error
}

// start runs an agent until the test ends.
func start(t *testing.T, cfg agent.Config) *running {
	t.Helper()
	if cfg.RunnerID == "" {
		cfg.RunnerID = "rnr-1"
	}
	if cfg.SpoolDir == "" {
		cfg.SpoolDir = t.TempDir()
	}
	if cfg.Executor == nil {
		cfg.Executor = &topologytest.Executor{}
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{Agent: agent.New(cfg), t: t, cancel: cancel, done: make(chan error, 1)}
	go func() { r.done <- r.Run(ctx) }()
	return r
}

// end waits for Run.
func (r *running) end() error {
	err := <-r.done
	r.cancel()
	return err
}

// kill ends Run at once and waits for it.
func (r *running) kill() {
	r.cancel()
	<-r.done
}

func settled(t *testing.T, h *fakeHub, id string) fakeJob {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Hour)
	defer cancel()
	if err := h.Settled(ctx, id); err != nil {
		t.Fatalf("job %s was not settled: %v", id, err)
	}
	return h.Job(id)
}

func await(t *testing.T, h *fakeHub, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Hour)
	defer cancel()
	if err := h.await(ctx, ok); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func TestRunsAJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		r := start(t, agent.Config{Client: h, Executor: topologytest.NewExecutor(topologytest.Exit(0, "one", "two"))})
		h.Submit("job_1", quickSpec)
		j := settled(t, h, "job_1")
		if len(j.Results) != 1 || j.Results[0].Status != "succeeded" || *j.Results[0].ExitCode != 0 {
			t.Errorf("result: %+v", j.Results)
		}
		if got := string(h.Log("job_1", 1)); got != "one\ntwo\n" {
			t.Errorf("log %q", got)
		}
		if got, want := j.Results[0].LogBytes, int64(j.Logs[1].Len()); got != want {
			t.Errorf("log_bytes %d, want %d", got, want)
		}
		r.Drain()
		if err := r.end(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestOnceEndsAfterOneJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		h.Submit("job_1", quickSpec)
		h.Submit("job_2", quickSpec)
		if err := start(t, agent.Config{Client: h, Once: true, Slots: 4}).end(); err != nil {
			t.Fatal(err)
		}
		if len(h.Job("job_1").Results) != 1 || h.Job("job_2").Attempt != 0 {
			t.Error("it did not run exactly the first job")
		}
	})
}

func TestSlotsRunAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		started, finish := make(chan topology.Identity), make(chan int)
		r := start(t, agent.Config{Client: h, Slots: 2, Executor: topologytest.NewExecutor(topologytest.Until(started, finish))})
		for _, id := range []string{"job_1", "job_2", "job_3"} {
			h.Submit(id, quickSpec)
		}
		<-started
		<-started
		synctest.Wait()
		if h.Job("job_3").Attempt != 0 {
			t.Fatal("a third job was leased with two slots")
		}
		finish <- 0
		<-started // the third takes the free slot
		finish <- 0
		finish <- 0
		for _, id := range []string{"job_1", "job_2", "job_3"} {
			settled(t, h, id)
		}
		r.kill()
	})
}

func TestCancelArrivesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		started := make(chan topology.Identity)
		cause := make(chan error, 1)
		exec := topologytest.NewExecutor(func(ctx context.Context, work topology.Work, obs topology.Observer) topology.Result {
			obs.Phase(topology.PhaseRunning, "")
			started <- work.Identity
			<-ctx.Done()
			cause <- context.Cause(ctx)
			return topologytest.Ended(ctx)
		})
		r := start(t, agent.Config{Client: h, Executor: exec})
		h.Submit("job_1", quickSpec)
		<-started
		synctest.Wait()
		begin := time.Now()
		h.do(func() { h.jobs["job_1"].Cancel = "not needed any more" })
		err := <-cause
		if took := time.Since(begin); took >= time.Second {
			t.Errorf("the cancel took %v", took)
		}
		var g interface{ Grace() time.Duration }
		if !errors.Is(err, topology.ErrCanceled) || !errors.As(err, &g) || g.Grace() != 3*time.Second {
			t.Errorf("cause %v", err)
		}
		if j := settled(t, h, "job_1"); j.Results[0].Status != "canceled" || j.Results[0].Failure == nil {
			t.Errorf("result %+v", j.Results[0])
		}
		r.kill()
	})
}

func TestPhasesAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		exec := topologytest.NewExecutor(func(ctx context.Context, work topology.Work, obs topology.Observer) topology.Result {
			obs.Phase(topology.PhasePulling, "")
			pass(4 * time.Second)
			obs.Phase(topology.PhaseRunning, "build")
			pass(4 * time.Second)
			return topologytest.Exit(0)(ctx, work, obs)
		})
		r := start(t, agent.Config{Client: h, Executor: exec})
		h.Submit("job_1", quickSpec)
		settled(t, h, "job_1")
		r.kill()
		var told []string
		for _, b := range h.beats {
			if s := b.Phase + "/" + b.Step; len(told) == 0 || told[len(told)-1] != s {
				told = append(told, s)
			}
		}
		if len(told) < 3 || told[0] != "preparing/" || told[1] != "pulling/" || told[2] != "running/build" {
			t.Errorf("told %q", told)
		}
		if len(h.beats) > 6 {
			t.Errorf("%d heartbeats for a job of 8 s", len(h.beats))
		}
	})
}

func TestCancelBeforeTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		exec := &topologytest.Executor{}
		h.Submit("job_1", quickSpec)
		h.do(func() { h.jobs["job_1"].Cancel = "changed my mind" })
		r := start(t, agent.Config{Client: h, Executor: exec})
		if j := settled(t, h, "job_1"); j.Results[0].Status != "canceled" {
			t.Errorf("result %+v", j.Results[0])
		}
		if len(exec.Runs()) != 0 {
			t.Error("it was run")
		}
		r.kill()
	})
}

func TestStaleLeaseKillsAndReportsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		started := make(chan topology.Identity)
		cause := make(chan error, 1)
		exec := topologytest.NewExecutor(func(ctx context.Context, work topology.Work, _ topology.Observer) topology.Result {
			started <- work.Identity
			<-ctx.Done()
			cause <- context.Cause(ctx)
			return topologytest.Ended(ctx)
		})
		dir := t.TempDir()
		r := start(t, agent.Config{Client: h, Executor: exec, SpoolDir: dir})
		h.Submit("job_1", quickSpec)
		<-started
		h.do(func() { h.jobs["job_1"].Lease = nil }) // swept: somebody else's soon
		if err := <-cause; !errors.Is(err, topology.ErrStale) {
			t.Errorf("cause %v", err)
		}
		synctest.Wait()
		if j := h.Job("job_1"); len(j.Results)+len(j.Fails)+len(j.Releases) != 0 {
			t.Errorf("it reported: %+v", j)
		}
		wantEmptySpool(t, dir)
		r.kill()
	})
}

func TestSpecThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		exec := &topologytest.Executor{}
		h.Submit("job_1", `{"image":"example/app","teleport":true}`)
		r := start(t, agent.Config{Client: h, Executor: exec})
		j := settled(t, h, "job_1")
		if len(j.Fails) != 1 || j.Fails[0].Class != "spec_invalid" || len(exec.Runs()) != 0 {
			t.Errorf("reported %+v %+v", j.Fails, j.Results)
		}
		r.kill()
	})
}

func TestPanicOfTheExecutorCostsOneJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		exec := topologytest.NewExecutor(func(context.Context, topology.Work, topology.Observer) topology.Result {
			panic("boom")
		})
		r := start(t, agent.Config{Client: h, Executor: exec})
		h.Submit("job_1", quickSpec)
		if j := settled(t, h, "job_1"); j.Results[0].Failure.Class != "internal" {
			t.Errorf("result %+v", j.Results[0])
		}
		r.kill()
	})
}

func TestDirectivesAndRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		directive string
		err       *mcp.Error
		want      mcp.Code
	}{
		"unpaired":         {directive: mcp.DirectiveUnpaired, want: mcp.CodeUnauthenticated},
		"revoked token":    {err: &mcp.Error{Code: mcp.CodeUnauthenticated}, want: mcp.CodeUnauthenticated},
		"no runner token":  {err: &mcp.Error{Code: mcp.CodePermissionDenied, Message: "an API key"}, want: mcp.CodePermissionDenied},
		"no such tool":     {err: &mcp.Error{Code: mcp.CodeNotFound, Message: "tool not found"}, want: mcp.CodePermissionDenied},
		"update directive": {directive: mcp.DirectiveUpdateRequired, want: mcp.CodeUpdateRequired},
		"update error":     {err: &mcp.Error{Code: mcp.CodeUpdateRequired}, want: mcp.CodeUpdateRequired},
		"drain":            {directive: mcp.DirectiveDrain},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHub()
				if c.directive != "" {
					h.directives = []string{c.directive}
				} else {
					h.Before = func(context.Context, string, any) error { return c.err }
				}
				err := start(t, agent.Config{Client: h, HubID: "hub-1"}).end()
				var e *mcp.Error
				if errors.As(err, &e); (c.want == "") != (err == nil) || (e != nil && e.Code != c.want) {
					t.Errorf("Run: %v, want code %q", err, c.want)
				}
			})
		})
	}
}

func TestUnpairedWhileAJobRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		started := make(chan topology.Identity)
		cause := make(chan error, 1)
		exec := topologytest.NewExecutor(func(ctx context.Context, work topology.Work, _ topology.Observer) topology.Result {
			started <- work.Identity
			<-ctx.Done()
			cause <- context.Cause(ctx)
			return topologytest.Ended(ctx)
		})
		var revoked bool
		h.Before = func(context.Context, string, any) error {
			h.mu.Lock()
			defer h.mu.Unlock()
			if revoked {
				return &mcp.Error{Code: mcp.CodeUnauthenticated, Message: "revoked"}
			}
			return nil
		}
		r := start(t, agent.Config{Client: h, Executor: exec})
		h.Submit("job_1", quickSpec)
		<-started
		h.do(func() { revoked = true })
		if err := <-cause; !errors.Is(err, topology.ErrStale) {
			t.Errorf("cause %v", err)
		}
		var e *mcp.Error
		if err := r.end(); !errors.As(err, &e) || e.Code != mcp.CodeUnauthenticated {
			t.Errorf("Run: %v", err)
		}
	})
}

// pass lets fake time pass; call it in a synctest bubble.
func pass(d time.Duration) { <-time.After(d) }

func lastPoll(h *fakeHub) mcp.LeaseJobArgs {
	p := h.Polls()
	return p[len(p)-1]
}
