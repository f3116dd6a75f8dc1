package agent_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/runnerhub/runnerhub/runnerctl/agent"
	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// flaky is an executor whose engine comes and goes.
type flaky struct {
	topologytest.Executor
	mu     sync.Mutex
	err    error
	probes int
}

func (f *flaky) Probe(ctx context.Context) (topology.Info, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.probes++
	if f.err != nil {
		return topology.Info{}, f.err
	}
	return f.Executor.Probe(ctx)
}

func (f *flaky) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func TestNoWorkWithoutAnEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		exec := &flaky{err: errors.New("no container engine answers")}
		r := start(t, agent.Config{Client: h, Executor: exec})
		h.Submit("job_1", quickSpec)
		pass(time.Hour)
		if h.Job("job_1").Attempt != 0 {
			t.Error("a job was leased without an engine")
		}
		last := lastPoll(h)
		if !last.Draining || last.Status == nil || last.Status.Level != "error" || last.Status.Text != "no container engine answers" {
			t.Errorf("the hub was told %+v", last)
		}
		exec.set(nil)
		settled(t, h, "job_1")
		pass(time.Minute) // the poll that got the job may have told how it was just before
		last = lastPoll(h)
		if last.Draining || last.Status.Level != "ok" || len(last.Capabilities) != 3 || last.OS != "linux" {
			t.Errorf("then it was told %+v", last)
		}
		r.kill()
	})
}

func TestEngineThatFailsUnderAJobIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		runs := 0
		exec := topologytest.NewExecutor(func(ctx context.Context, work topology.Work, obs topology.Observer) topology.Result {
			runs++
			if runs <= 20 {
				return topologytest.Fail(topology.ClassDockerUnavailable, "the engine went away")(ctx, work, obs)
			}
			return topologytest.Exit(0)(ctx, work, obs)
		})
		r := start(t, agent.Config{Client: h, Executor: exec})
		begin := time.Now()
		for n, id := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t"} {
			h.Submit("job_"+id, quickSpec)
			if j := settled(t, h, "job_"+id); j.Results[0].Failure.Class != "docker_unavailable" {
				t.Fatalf("job %d: %+v", n, j.Results[0])
			}
		}
		if took := time.Since(begin); took < 2*time.Minute {
			t.Errorf("20 failures in %v: the runner does not hold off", took)
		}
		h.Submit("job_z", quickSpec)
		if j := settled(t, h, "job_z"); j.Results[0].Status != "succeeded" {
			t.Errorf("result %+v", j.Results[0])
		}
		r.kill()
	})
}

// TestALimitOfTheJobsOwnIsNoSetback: the machine of a job that wrote too much is well.
func TestALimitOfTheJobsOwnIsNoSetback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		exec := topologytest.NewExecutor(func(context.Context, topology.Work, topology.Observer) topology.Result {
			return topology.Result{Status: topology.Failed, Failure: &topology.Failure{
				Class: topology.ClassDiskFull, Message: "The job wrote 2GiB to disk, over its limit of 1GiB.", Container: "job",
			}}
		})
		r := start(t, agent.Config{Client: h, Executor: exec})
		begin := time.Now()
		for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
			h.Submit("job_"+id, quickSpec)
			if j := settled(t, h, "job_"+id); j.Results[0].Failure.Container != "job" {
				t.Fatalf("%+v", j.Results[0])
			}
		}
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("the runner held off: %v", took)
		}
		r.kill()
	})
}

func TestSweepComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		exec := &topologytest.Executor{Leftovers: topology.Leaks{Containers: 2, Networks: 1}}
		exec.Script = func(ctx context.Context, work topology.Work, obs topology.Observer) topology.Result {
			if len(exec.Sweeps()) == 0 {
				t.Error("a job was run before the sweep")
			}
			return topologytest.Exit(0)(ctx, work, obs)
		}
		dir := t.TempDir()
		h.Submit("job_1", quickSpec)
		r := start(t, agent.Config{Client: h, Executor: exec, SpoolDir: dir})
		settled(t, h, "job_1")
		r.kill()
		if s := exec.Sweeps(); len(s) != 1 || s[0].Hub != "hub-1" || s[0].Runner != "rnr-1" || len(s[0].Live) != 0 {
			t.Errorf("sweeps %+v", s)
		}
		if id := exec.Runs()[0].Identity; id != (topology.Identity{Hub: "hub-1", Runner: "rnr-1", Job: "job_1", Attempt: 1, Epoch: 1}) {
			t.Errorf("identity %+v", id)
		}
		// The hub's id is remembered: the next start sweeps although the hub is away.
		h.do(func() { h.down = true })
		r = start(t, agent.Config{Client: h, Executor: exec, SpoolDir: dir})
		synctest.Wait()
		if len(exec.Sweeps()) != 2 {
			t.Error("no sweep without the hub")
		}
		r.kill()
	})
}

func TestStatusTellsWhatGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		var seen []agent.State
		started, finish := make(chan topology.Identity), make(chan int)
		exec := topologytest.NewExecutor(topologytest.Until(started, finish))
		r := start(t, agent.Config{Client: h, Executor: exec, StatusFn: func(s agent.Status) {
			if len(seen) == 0 || seen[len(seen)-1] != s.State {
				seen = append(seen, s.State)
			}
		}})
		h.Submit("job_1", quickSpec)
		<-started
		finish <- 0
		settled(t, h, "job_1")
		pass(time.Minute)
		h.do(func() { h.down = true })
		pass(time.Minute)
		h.do(func() { h.down = false })
		pass(time.Minute)
		r.Drain()
		_ = r.end()
		want := []agent.State{
			agent.StateStarting, agent.StateIdle, agent.StateBusy, agent.StateIdle, agent.StateHubUnreachable, agent.StateIdle,
			agent.StateDraining, agent.StateStopped,
		}
		if len(seen) != len(want) {
			t.Fatalf("states %v, want %v", seen, want)
		}
		for i := range want {
			if seen[i] != want[i] {
				t.Fatalf("states %v, want %v", seen, want)
			}
		}
	})
}
