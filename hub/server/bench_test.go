package server_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub/server"
	"github.com/runnerhub/runnerhub/hub/server/servertest"
	"github.com/runnerhub/runnerhub/mcp"
)

// BenchmarkHandOff measures, over MCP and a real hub on each store, from the start of submit_job to the answer of a
// lease_job that was held, as a share of the goal of 20 ms (1 is just met), and against a call that does nothing but
// authenticate (whoami).
func BenchmarkHandOff(b *testing.B) {
	for name, change := range map[string]func(*server.Settings){
		"sqlite":   nil,
		"postgres": func(s *server.Settings) { s.Database = servertest.Database(b) },
	} {
		b.Run(name, func(b *testing.B) {
			h := servertest.Start(b, change)
			people, runner := h.Client(b, h.AdminKey(b)), h.Client(b, h.Pair(b, "box"))
			spec, err := json.Marshal("image: x\n")
			if err != nil {
				b.Fatal(err)
			}
			lease := func(id string, wait int64) (mcp.LeaseJobResult, error) {
				return runner.LeaseJob(b.Context(), mcp.LeaseJobArgs{
					RequestID: id, WaitMS: wait, Protocol: mcp.Protocol, Capabilities: []string{"docker"}, OS: "linux", Arch: "amd64",
				})
			}
			if _, err := lease("warm-up", 0); err != nil {
				b.Fatal(err)
			}
			var handed, plain []time.Duration
			for i := range max(b.N, 100) {
				got := make(chan mcp.LeaseJobResult, 1)
				fail := make(chan error, 1)
				go func() {
					res, err := lease(fmt.Sprint("call-", i), mcp.MaxWait)
					if err != nil {
						fail <- err
						return
					}
					got <- res
				}()
				begun := time.Now()
				if _, err := people.Whoami(b.Context()); err != nil { // by now the lease is held
					b.Fatal(err)
				}
				plain = append(plain, time.Since(begun))
				begun = time.Now()
				if _, err := people.SubmitJob(b.Context(), mcp.SubmitJobArgs{JobRequest: mcp.JobRequest{Spec: spec}}); err != nil {
					b.Fatal(err)
				}
				var l *mcp.Lease
				select {
				case res := <-got:
					l = res.Lease
				case err := <-fail:
					b.Fatal(err)
				}
				handed = append(handed, time.Since(begun))
				proof := mcp.LeaseProof{JobID: l.JobID, Attempt: l.Attempt, LeaseEpoch: l.LeaseEpoch, LeaseToken: l.LeaseToken}
				if _, err := runner.SubmitJobResult(b.Context(), mcp.SubmitJobResultArgs{LeaseProof: proof, Result: mcp.Result{Status: "succeeded"}}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(median(handed))/float64(20*time.Millisecond), "of-goal")
			b.ReportMetric(float64(median(handed))/float64(median(plain)), "x-whoami")
		})
	}
}

func median(ds []time.Duration) time.Duration {
	slices.Sort(ds)
	return ds[len(ds)/2]
}
