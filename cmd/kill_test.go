package cmd_test

import (
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/topology"
)

// TestRunnerIsKilled kills the real program again and again under one job, at a
// call to the engine or to the hub each time, and starts it again: the job ends in
// its first attempt, with each line of its output once, and leaves nothing.
func TestRunnerIsKilled(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		spec    string
		want    []string
		moments []moment
	}{
		"steps": {
			spec: `
image: runnerhub/busybox:local
steps:
  - {name: one, run: "echo one begins; sleep 1; echo one ends"}
  - {name: two, run: "echo two begins; sleep 1; echo two fails; exit 4"}
  - {name: three, run: "echo three is skipped"}
  - {name: four, run: "echo four begins; sleep 1; printf 'four ends'", always: true}
services:
  db:
    image: runnerhub/busybox:local
    command: [sh, -c, "echo db is up; touch /up; exec sleep 1000"]
    healthcheck: {test: [CMD, test, -e, /up]}
`,
			want: []string{"one begins", "one ends", "two begins", "two fails", "four begins", "four ends"},
			moments: []moment{
				at("before anything is made", `POST /[v.0-9]+/volumes/create`),
				after("a container was made", `POST /[v.0-9]+/containers/create`),
				after("a service was started", `POST /[v.0-9]+/containers/rh-[^ ]*-svc-db/start`),
				at("a service is looked at", `POST /[v.0-9]+/exec/[0-9a-f]+/start`),
				at("before the job is started", `POST /[v.0-9]+/containers/rh-[^ ]*-job/start`),
				after("the job was started", `POST /[v.0-9]+/containers/rh-[^ ]*-job/start`),
				at("in step one", `(?s)PUT /[^ ]*.*one begins`),
				after("in step two", `(?s)PUT /[^ ]*.*two begins`),
				at("in step four", `(?s)PUT /[^ ]*.*four begins`),
				at("before the report", `(?s)POST /mcp.*submit_job_result`),
				after("the report was heard", `(?s)POST /mcp.*submit_job_result`),
			},
		},
		"command": {
			spec: `
image: runnerhub/busybox:local
command: [sh, -c, "for i in 1 2 3 4 5 6; do echo line $i; sleep 0.5; done; exit 4"]
`,
			want: []string{"line 1", "line 2", "line 3", "line 4", "line 5", "line 6"},
			moments: []moment{
				after("the volume was made", `POST /[v.0-9]+/volumes/create`),
				after("the job was started", `POST /[v.0-9]+/containers/rh-[^ ]*-job/start`),
				at("in the middle", `(?s)PUT /[^ ]*.*line 3`),
				late("while it is removed", `DELETE /[v.0-9]+/containers/rh-[^ ]*-job`),
			},
		},
		"source and Compose files": {
			spec: `
image: runnerhub/busybox:local
source:
  files:
    run.sh: {content: "for i in 1 2 3 4; do echo line $i; sleep 0.5; done; exit 4\n"}
    compose.yaml:
      content: |
        services:
          db:
            image: runnerhub/busybox:local
            command: [sleep, "1000"]
compose: compose.yaml
command: [sh, run.sh]
`,
			want: []string{"line 1", "line 2", "line 3", "line 4"},
			moments: []moment{
				at("before anything is made", `POST /[v.0-9]+/volumes/create`),
				after("the source was copied", `PUT /[v.0-9]+/containers/rh-[^ ]*/archive`),
				after("the job was started", `POST /[v.0-9]+/containers/rh-[^ ]*-job/start`),
				at("in the middle", `(?s)PUT /[^ ]*.*line 3`),
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVictim(t)
			job := v.submit(tt.spec)
			for _, m := range tt.moments {
				v.killAt(m)
			}
			v.start()
			ended := v.await(job)
			v.awaitSweep()
			v.awaitEmptySpool() // a runner that has hardly begun does not yet end in order
			v.stop()
			if ended.State != "failed" || ended.Attempt != 1 {
				t.Errorf("the job is %s in attempt %d: %+v", ended.State, ended.Attempt, ended.Failure)
			}
			var lines []string
			for line := range strings.Lines(v.run("logs", job)) {
				for _, want := range tt.want {
					if strings.HasSuffix(strings.TrimSpace(line), want) {
						lines = append(lines, want)
					}
				}
			}
			if got, want := strings.Join(lines, ", "), strings.Join(tt.want, ", "); got != want {
				t.Errorf("the log has %q, want %q:\n%s", got, want, v.run("logs", job))
			}
			v.wantNothingLeft(topology.Filter{Runner: v.runnerID()})
		})
	}
}
