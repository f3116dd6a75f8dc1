package agent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/agent"
	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

func TestDrainFinishesWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		started, finish := make(chan topology.Identity), make(chan int)
		exec := topologytest.NewExecutor(topologytest.Until(started, finish))
		r := start(t, agent.Config{Client: h, Executor: exec, Slots: 2, DrainTimeout: time.Hour})
		h.Submit("job_1", quickSpec)
		<-started
		r.Drain()
		r.Drain() // once more does no harm
		synctest.Wait()
		h.Submit("job_2", quickSpec)
		pass(time.Minute)
		if h.Job("job_2").Attempt != 0 {
			t.Error("a draining runner took a job")
		}
		if last := lastPoll(h); !last.Draining || last.Leaving {
			t.Errorf("the hub was told %+v", last)
		}
		finish <- 0
		if err := r.end(); err != nil {
			t.Error(err)
		}
		if last := lastPoll(h); !last.Leaving {
			t.Errorf("the runner's last word was %+v", last)
		}
		if len(h.Job("job_1").Results) != 1 || !exec.Closed() {
			t.Error("the job was not reported, or the executor not closed")
		}
	})
}

func TestDrainTimeoutGivesTheLeaseBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		started := make(chan topology.Identity)
		cause := make(chan error, 1)
		exec := topologytest.NewExecutor(func(ctx context.Context, work topology.Work, obs topology.Observer) topology.Result {
			topologytest.Log(obs, "half done")
			started <- work.Identity
			<-ctx.Done()
			cause <- context.Cause(ctx)
			return topologytest.Ended(ctx)
		})
		dir := t.TempDir()
		r := start(t, agent.Config{Client: h, Executor: exec, SpoolDir: dir, DrainTimeout: time.Minute})
		h.Submit("job_1", quickSpec)
		<-started
		begin := time.Now()
		r.Drain()
		if err := r.end(); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took < time.Minute || took > 2*time.Minute {
			t.Errorf("the drain took %v", took)
		}
		if err := <-cause; !errors.Is(err, topology.ErrDraining) {
			t.Errorf("cause %v", err)
		}
		if j := h.Job("job_1"); len(j.Releases) != 1 || len(j.Results)+len(j.Fails) != 0 {
			t.Errorf("job %+v", j)
		}
		wantEmptySpool(t, dir)
	})
}

func TestEndingTheContextGivesBackAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		started := make(chan topology.Identity)
		r := start(t, agent.Config{Client: h, Executor: topologytest.NewExecutor(topologytest.Until(started, nil))})
		h.Submit("job_1", quickSpec)
		<-started
		r.Drain()
		r.kill()
		if j := h.Job("job_1"); len(j.Releases) != 1 {
			t.Errorf("job %+v", j)
		}
	})
}

func TestAJobThatFinishesDuringTheDrainIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		started := make(chan topology.Identity)
		exec := topologytest.NewExecutor(func(ctx context.Context, work topology.Work, obs topology.Observer) topology.Result {
			started <- work.Identity
			<-ctx.Done() // and succeeds all the same
			return topologytest.Exit(0)(context.WithoutCancel(ctx), work, obs)
		})
		r := start(t, agent.Config{Client: h, Executor: exec})
		h.Submit("job_1", quickSpec)
		<-started
		r.kill()
		if j := h.Job("job_1"); len(j.Results) != 1 || len(j.Releases) != 0 {
			t.Errorf("job %+v", j)
		}
	})
}

// A lease that the hub gives out in the very moment in which the runner drains
// is given back.
func TestLeaseThatCrossesTheDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		var r *running
		crossed := false
		h.After = func(tool string, args any) error {
			if a, ok := args.(mcp.LeaseJobArgs); ok && !a.Draining && !crossed {
				crossed = true
				r.Drain()
				return context.Canceled // the client has gone when the answer comes
			}
			return nil
		}
		exec := &topologytest.Executor{}
		r = start(t, agent.Config{Client: h, Executor: exec, HubID: "hub-1"})
		h.Submit("job_1", quickSpec)
		if err := r.end(); err != nil {
			t.Error(err)
		}
		if j := h.Job("job_1"); len(j.Releases) != 1 || len(exec.Runs()) != 0 {
			t.Errorf("job %+v, %d runs", j, len(exec.Runs()))
		}
	})
}

func TestEndsWhileTheHubIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		started := make(chan topology.Identity)
		dir := t.TempDir()
		r := start(t, agent.Config{Client: h, SpoolDir: dir, Executor: topologytest.NewExecutor(topologytest.Until(started, nil))})
		h.Submit("job_1", quickSpec)
		<-started
		h.do(func() { h.down = true })
		begin := time.Now()
		r.kill()
		if took := time.Since(begin); took > time.Minute {
			t.Errorf("it took %v to end", took)
		}
		// The next start tells what this one could not.
		h.do(func() { h.down = false })
		r = start(t, agent.Config{Client: h, SpoolDir: dir})
		await(t, h, "the release", func() bool { return len(h.jobs["job_1"].Releases) == 1 })
		settled(t, h, "job_1") // and it runs again
		r.kill()
	})
}
