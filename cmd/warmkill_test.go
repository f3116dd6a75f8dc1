package cmd_test

import (
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/topology"
)

// TestRunnerIsKilledWithWarmService kills the real program under a job that has the
// service of an earlier one: the job goes on with it when the program is started again,
// and nothing of it is left in the end.
func TestRunnerIsKilledWithWarmService(t *testing.T) {
	t.Parallel()
	const spec = `
image: runnerhub/busybox:local
command: [sh, -c, "for i in 1 2 3; do nc -w 5 db 7000 </dev/null; echo WORD $i; sleep 0.5; done"]
services:
  db:
    image: runnerhub/busybox:local
    command: [sh, -c, "touch /up; while n=$((n+1)); do echo visit $n | nc -l -p 7000 >/dev/null; echo served $n; done"]
    healthcheck: {test: [CMD, test, -e, /up]}
    reuse: true
`
	v := newVictim(t)
	v.submit(strings.ReplaceAll(spec, "WORD", "first"))
	job := v.submit(strings.ReplaceAll(spec, "WORD", "second"))
	v.killAt(after("in the second job", `(?s)PUT /[^ ]*.*second 1`))
	v.start()
	ended := v.await(job)
	v.awaitEmptySpool()
	v.stop()
	if ended.State != "succeeded" || ended.Attempt != 1 {
		t.Errorf("%s in attempt %d: %+v", ended.State, ended.Attempt, ended.Failure)
	}
	if said := v.run("explain", job); !strings.Contains(said, "an earlier job had left: db\n") {
		t.Errorf("explain says\n%s", said)
	}
	if got, want := v.run("logs", job), "visit 4\nsecond 1\nvisit 5\nsecond 2\nvisit 6\nsecond 3\n"; got != want {
		t.Errorf("the job said %q, want %q", got, want)
	}
	if said := v.run("logs", job, "--service", "db", "--json"); strings.Contains(said, "served 2") || !strings.Contains(said, "served 5") {
		t.Errorf("the service said\n%s", said)
	}
	v.wantNothingLeft(topology.Filter{Runner: v.runnerID()})
}
