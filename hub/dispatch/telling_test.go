package dispatch_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/mcp/joblog"
)

// TestFailuresTellWhy has a job fail beside a service that complains too.
func TestFailuresTellWhy(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		g := newLogged(w)
		say := func(from joblog.Source, line string) {
			g.write(joblog.Append(nil, joblog.Record{Time: w.clock.now(), Stream: joblog.Stdout, Source: from, Payload: []byte(line)}))
		}
		build, test, db := joblog.Source{Job: true, Step: "build"}, joblog.Source{Job: true, Step: "test"}, joblog.Source{Service: "db"}
		say(build, "./price.go:3:1: error: that the build went on after")
		say(test, "=== RUN   TestTotal")
		say(test, "    \x1b[31mprice_test.go:6: Total() = 119, want 120\x1b[0m")
		say(test, "--- FAIL: TestTotal (0.00s)")
		say(test, "PASS: TestOther")
		say(db, "FATAL: terminating connection due to administrator command")
		g.settle(dispatch.SettleRequest{
			JobID: g.l.JobID, Proof: g.l.Proof, State: hub.JobFailed, Failure: &hub.Failure{Class: hub.ClassScript, Message: "step test exited with 1"},
			Result: fmt.Appendf(nil, `{"status":"failed","log_bytes":%d}`, g.size),
		})
		want := []string{"    price_test.go:6: Total() = 119, want 120", "--- FAIL: TestTotal (0.00s)"}
		r := w.wait(dispatch.WaitRequest{JobID: g.l.JobID, UntilEnd: true, Wait: time.Hour})
		w.wantTexts(r.Telling, want...)
		e, err := w.s.Explain(w.ctx, w.ann, g.l.JobID)
		w.must(err)
		w.wantTexts(e.Telling, want...)
		p := g.read(dispatch.ReadLogRequest{Errors: true, Context: 1, Step: "test"})
		w.wantTexts(p.Lines, "=== RUN   TestTotal", want[0], want[1], "PASS: TestOther")
	})
}
