package cmd_test

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// manyVariable is how many jobs TestManyJobsLeaveNothing runs; `make many` sets it to 200.
const manyVariable = "RUNNERHUB_TEST_JOBS"

// batch is how many jobs are waited for at once.
const batch = 20

// TestManyJobsLeaveNothing runs jobs one after the other on a runner with two slots.
// A quarter of them is canceled while it runs, another is under a runner that is
// killed and started again, and some fail. In the end nothing of them is left: no
// container, network or volume, and no file.
func TestManyJobsLeaveNothing(t *testing.T) {
	t.Parallel()
	jobs := batch
	if n, err := strconv.Atoi(os.Getenv(manyVariable)); err == nil {
		jobs = n
	}
	kinds := []struct{ spec, want string }{
		{"command: ['true']", "succeeded"},
		{"command: [sleep, '1000']\nservices: {db: {image: runnerhub/busybox:local, command: [sleep, '1000']}}\ngrace: 1s", "canceled"},
		{"steps: [{run: echo killed, name: a}, {run: sleep 3, name: b}]", "succeeded"},
		{"command: ['false']\nnetwork: restricted", "failed"},
	}
	v := newVictim(t)
	v.flags = []string{"--slots", "2"}
	kills, canceled := 0, 0
	for done := 0; done < jobs; done += batch {
		kindOf := map[string]int{}
		for i := range batch {
			kind := i % len(kinds)
			kindOf[v.submit("image: runnerhub/busybox:local\n"+kinds[kind].spec)] = kind
		}
		if done == 0 { // no job runs before it is looked at
			v.start()
		}
		tick := time.NewTicker(50 * time.Millisecond)
		killed, stopped := map[string]bool{}, map[string]bool{}
		for deadline := time.Now().Add(patience); ; <-tick.C { // of each job that ends
			if time.Now().After(deadline) {
				t.Fatalf("jobs did not end: %s", v.run("jobs"))
			}
			waiting := 0
			for _, j := range v.jobs() {
				kind, ours := kindOf[j.ID]
				if !ours {
					continue
				}
				switch {
				case j.FinishedAt != nil:
					if j.State != kinds[kind].want {
						t.Errorf("a job of %q is %s: %+v", kinds[kind].spec, j.State, j.Failure)
					}
					delete(kindOf, j.ID)
					deadline = time.Now().Add(patience)
					continue
				case kind == 1 && j.Phase == "running" && !stopped[j.ID]:
					stopped[j.ID] = true
					v.run("cancel", j.ID)
					canceled++
				case kind == 2 && j.State == "running" && !killed[j.ID]:
					killed[j.ID] = true
					v.kill()
					<-v.exited
					v.start()
					kills++
				}
				waiting++
			}
			if len(kindOf) == 0 && waiting == 0 {
				break
			}
		}
		tick.Stop()
	}
	if kills < jobs/5 || canceled < jobs/5 {
		t.Errorf("of %d jobs %d were killed and %d canceled", jobs, kills, canceled)
	}
	v.stop()
	v.wantNothingLeft(topology.Filter{Runner: v.runnerID()})
}
