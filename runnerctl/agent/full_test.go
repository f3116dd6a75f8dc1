package agent_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/runnerhub/runnerhub/runnerctl/agent"
	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

func TestFullDisk(t *testing.T) {
	for name, allowed := range map[string]int64{"at the lease": 0, "in the log": 2} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHub()
				h.Submit("job_1", quickSpec)
				var last agent.Status
				cause := make(chan error, 1)
				exec := topologytest.NewExecutor(func(ctx context.Context, _ topology.Work, obs topology.Observer) topology.Result {
					for range 10 {
						_ = obs.Log(topology.Record{Time: time.Now(), Stream: topology.Stdout, Data: []byte("line\n")})
					}
					<-ctx.Done()
					cause <- context.Cause(ctx)
					return topologytest.Ended(ctx)
				})
				dir := t.TempDir()
				cfg := agent.Config{Client: h, Executor: exec, HubID: "hub-1", SpoolDir: dir, StatusFn: func(s agent.Status) {
					h.do(func() { last = s })
				}}
				var said bytes.Buffer // written to by the attempt's goroutine alone, until it is read
				cfg.Logger = slog.New(slog.NewTextHandler(&said, nil))
				cfg.FailWritesAfter(allowed)
				r := start(t, cfg)
				j := settled(t, h, "job_1")
				var class, message string
				if len(j.Fails) > 0 {
					class, message = j.Fails[0].Class, j.Fails[0].Message
				} else if f := j.Results[0].Failure; f != nil {
					class, message = f.Class, f.Message
					if err := <-cause; errors.Is(err, topology.ErrCanceled) {
						t.Errorf("cause %v", err)
					}
				}
				if class != "disk_full" || message == "" {
					t.Errorf("reported %q %q", class, message)
				}
				synctest.Wait()
				if h.mu.Lock(); last.State != agent.StateEngineUnavailable || last.Level != "error" {
					t.Errorf("status %+v", last)
				}
				h.mu.Unlock()
				r.kill()
				if log := said.String(); allowed > 0 && !strings.Contains(log, `status=failed`) || strings.Contains(log, "internal: ") {
					t.Errorf("the runner's own log tells another story: %s", log)
				}
			})
		})
	}
}

// A job that had succeeded when its disk ran full must not be run again for that by itself, which its class decides.
func TestFullDiskBehindAJobThatSucceeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		h.Submit("job_1", quickSpec)
		var last agent.Status
		cfg := agent.Config{Client: h, HubID: "hub-1", StatusFn: func(s agent.Status) { h.do(func() { last = s }) }}
		cfg.Executor = topologytest.NewExecutor(func(_ context.Context, _ topology.Work, obs topology.Observer) topology.Result {
			for range 3 { // no room for what is to be said of it, either
				_ = obs.Log(topology.Record{Time: time.Now(), Stream: topology.System, Data: []byte("not kept\n")})
			}
			return topology.Result{Status: topology.Failed, Failure: &topology.Failure{Class: topology.ClassArtifact, Machine: true, Message: "There is no room."}}
		})
		cfg.FailWritesAfter(2)
		r := start(t, cfg)
		j := settled(t, h, "job_1")
		if f := j.Results[0].Failure; f == nil || f.Class != "artifact" || f.Message != "There is no room." {
			t.Errorf("the failure is %+v", f)
		}
		synctest.Wait()
		h.do(func() {
			if last.State != agent.StateEngineUnavailable {
				t.Errorf("the machine takes jobs on: %+v", last)
			}
		})
		r.kill()
	})
}
