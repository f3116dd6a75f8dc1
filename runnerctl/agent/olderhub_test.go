package agent_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/agent"
	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// A hub of the first release refuses what it does not know of a result. The job's outcome gets there all the same, and
// the job does not run again.
func TestAnOlderHubIsToldWhatItKnows(t *testing.T) {
	for name, tt := range map[string]struct {
		refuse func(mcp.Result) bool
		status string // of the result; "" for a report that the job could not be run
	}{
		"of the first release": {func(r mcp.Result) bool {
			return r.Tests != nil || r.PhasesMS != nil || len(r.Artifacts) > 0 || r.Usage.PulledBytes > 0 || r.Usage.DiskPeakBytes > 0
		}, "succeeded"},
		"that takes no result at all": {func(mcp.Result) bool { return true }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHub()
				h.Before = func(_ context.Context, _ string, args any) error {
					if a, ok := args.(mcp.SubmitJobResultArgs); ok && tt.refuse(a.Result) {
						return &mcp.Error{Code: mcp.CodeInvalidArgument, Message: "result.tests is not a known field"}
					}
					return nil
				}
				run := func(ctx context.Context, w topology.Work, o topology.Observer) topology.Result {
					r := topologytest.Exit(0)(ctx, w, o)
					r.Tests, r.Outputs = &topology.Tests{Passed: 1}, map[string]string{"A": "1"}
					r.Usage.Pulled, r.Phases = 7, map[topology.Phase]time.Duration{"running": time.Second}
					return r
				}
				r := start(t, agent.Config{Client: h, Executor: topologytest.NewExecutor(leaving(t, run, "a"))})
				h.Submit("job_1", quickSpec)
				j := settled(t, h, "job_1")
				switch {
				case tt.status == "":
					if len(j.Results) != 0 || len(j.Fails) != 1 || j.Fails[0].Class != "internal" {
						t.Errorf("reported: %+v %+v", j.Results, j.Fails)
					}
				case len(j.Results) != 1 || len(j.Fails) != 0:
					t.Errorf("reported: %+v %+v", j.Results, j.Fails)
				case j.Results[0].Status != tt.status || j.Results[0].ExitCode == nil || j.Results[0].Outputs["A"] != "1":
					t.Errorf("the result is %+v", j.Results[0])
				}
				r.Drain()
				_ = r.end()
			})
		})
	}
}
