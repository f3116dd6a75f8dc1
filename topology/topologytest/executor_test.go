package topologytest_test

import (
	"context"
	"testing"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

func TestExecutorRunsUntilTheCauseEndsIt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	started := make(chan topology.Identity)
	e := topologytest.NewExecutor(topologytest.Until(started, nil, "hello"))
	obs := &topologytest.Observer{}
	done := make(chan topology.Result)
	go func() {
		done <- e.Run(ctx, topology.Work{Identity: topology.Identity{Job: "job_1"}, Spec: &topology.Spec{}}, obs)
	}()
	if id := <-started; id.Job != "job_1" {
		t.Errorf("started %v", id)
	}
	cancel(topology.ErrCanceled)
	if r := <-done; r.Status != topology.Canceled || r.Failure.Class != topology.ClassCanceled {
		t.Errorf("result %+v", r)
	}
	if got := obs.Text(topology.Stdout, ""); got != "hello\n" {
		t.Errorf("log %q", got)
	}
	if len(e.Runs()) != 1 {
		t.Errorf("runs %v", e.Runs())
	}
	if err := e.Close(t.Context()); err != nil || !e.Closed() {
		t.Errorf("close: %v", err)
	}
}

func TestExecutorExit(t *testing.T) {
	t.Parallel()
	e := &topologytest.Executor{}
	if r := e.Run(t.Context(), topology.Work{Identity: topology.Identity{}, Spec: &topology.Spec{}}, &topologytest.Observer{}); r.Status != topology.Succeeded || *r.ExitCode != 0 {
		t.Errorf("result %+v", r)
	}
	e = topologytest.NewExecutor(topologytest.Exit(3))
	if r := e.Run(t.Context(), topology.Work{Identity: topology.Identity{}, Spec: &topology.Spec{}}, &topologytest.Observer{}); r.Failure == nil || *r.ExitCode != 3 {
		t.Errorf("result %+v", r)
	}
}
