//go:build clients

package clients_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
)

// TestClients has every client do the main job of an agent, over a way to the hub that breaks, with a runner that works.
func TestClients(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	startRunner(t, h, "4")
	witness := h.witness(t)
	// The clients are done before the programs end.
	t.Run("of", func(t *testing.T) {
		for _, k := range kinds() {
			t.Run(k.name, func(t *testing.T) {
				t.Parallel()
				f := newFront(t, h, "")
				a := &agent{t: t, name: k.name, client: k.connect(t, f.url+"/mcp", h.key, k.revision), front: f, witness: witness}
				a.looksAround()
				good := a.submits()
				a.waits(good)
				a.readsReport(good)
				bad := a.debugs()
				again := a.cancels(good)
				if err := a.close(); err != nil {
					t.Error(err)
				}
				a.ranOnce(good, bad, again)
			})
		}
	})
}

// looksAround lists the tools, and has specs checked.
func (a *agent) looksAround() {
	a.t.Helper()
	names, err := a.tools(a.t.Context())
	if err != nil {
		a.t.Fatal(err)
	}
	for _, tool := range []string{
		mcp.ToolCheckJob, mcp.ToolSubmitJob, mcp.ToolWaitJob, mcp.ToolExplainJob, mcp.ToolReadJobLog,
		mcp.ToolListArtifacts, mcp.ToolReadArtifact, mcp.ToolRetryJob, mcp.ToolCancelJob,
	} {
		if !slices.Contains(names, tool) {
			a.t.Errorf("the tool %s is missing: %v", tool, names)
		}
	}
	var checked mcp.CheckJobResult
	a.do(mcp.ToolCheckJob, map[string]any{"spec": "image: runnerhub/busybox:local\ncomand: [\"true\"]"}, &checked)
	if checked.Valid || len(checked.Problems) == 0 || checked.Problems[0].Field != "comand" {
		a.t.Errorf("a spec with a mistake: %+v", checked)
	}
	checked = mcp.CheckJobResult{}
	a.do(mcp.ToolCheckJob, map[string]any{"spec": spec("checked", "true")}, &checked)
	if !checked.Valid || len(checked.Runners) != 1 || !checked.Runners[0].Eligible {
		a.t.Errorf("a good spec: %+v", checked)
	}
	a.refused(mcp.ToolGetJob, map[string]any{"job_id": "job_01a22bdb-571b-7ba8-9e13-ef5b7265b047"}, "not_found")
}

// submits submits a gated job, whose answer gets lost, and submits it again.
func (a *agent) submits() string {
	a.t.Helper()
	job := spec(a.name+" good", gated)
	job["artifacts"] = []string{"out/report.txt"}
	order := map[string]any{"spec": job, "idempotency_key": a.name + "-good"}
	a.front.catch(mcp.ToolSubmitJob, losesAnswer)
	if got, err := a.call(a.t.Context(), mcp.ToolSubmitJob, order, patience); err == nil {
		a.t.Errorf("a submit whose answer is lost: %s", got)
	}
	var stored mcp.SubmitJobResult
	a.do(mcp.ToolSubmitJob, order, &stored)
	if !stored.Existing {
		a.t.Errorf("the submit whose answer was lost had stored nothing: %+v", stored)
	}
	a.refused(mcp.ToolSubmitJob, map[string]any{"spec": spec(a.name+" other", "true"), "idempotency_key": a.name + "-good"}, "conflict")
	return stored.Job.ID
}

// waits waits for the gated job, thrice in vain: the connection is cut while the hub holds the call, the client's own time runs
// out, and the client cancels its call. Each ends the call alone: the client and the job go on, and no line is lost.
func (a *agent) waits(job string) {
	a.t.Helper()
	l := &log{job: job}
	a.readsToTheGate(l)

	call := a.front.catch(mcp.ToolWaitJob, isCut)
	ended := a.waitsInVain(a.t.Context(), l)
	<-call.held
	a.do(mcp.ToolGetJob, map[string]any{"job_id": job}, &mcp.GetJobResult{}) // the held one is in nobody's way
	close(call.cut)
	if err := <-ended; err != nil {
		a.t.Errorf("a wait whose connection is cut: %v", err)
	}
	a.goesOn(job)

	if got, err := a.call(a.t.Context(), mcp.ToolWaitJob, l.waitArgs("end"), time.Second); err == nil {
		a.t.Errorf("a wait that is longer than the client's time: %s", got)
	}
	a.goesOn(job)

	a.cancelsWait(l)
	openGate(a.t, job)
	end := a.readsToTheEnd(l)
	if end.State != "succeeded" || end.ExitCode == nil || *end.ExitCode != 0 || !slices.Equal(l.lines, gatedLines) {
		a.t.Errorf("the job ended as %+v, its lines are %q", end, l.lines)
	}
}

// waitsInVain waits for a job's end, which must fail: nil says that it did.
func (a *agent) waitsInVain(ctx context.Context, l *log) <-chan error {
	ended := make(chan error, 1)
	args := l.waitArgs("end")
	go func() {
		if got, err := a.call(ctx, mcp.ToolWaitJob, args, patience); err == nil {
			ended <- fmt.Errorf("it answers %s", got)
		}
		close(ended)
	}()
	return ended
}

// cancelsWait cancels a wait that the hub holds, by what the client has for that.
func (a *agent) cancelsWait(l *log) {
	a.t.Helper()
	ctx, cancel := context.WithCancel(a.t.Context())
	call := a.front.catch(mcp.ToolWaitJob, passes)
	ended := a.waitsInVain(ctx, l)
	<-call.held
	cancel()
	if err := <-ended; err != nil {
		a.t.Errorf("a wait that its caller cancels: %v", err)
	}
	a.goesOn(l.job)
}

func (a *agent) readsReport(job string) {
	a.t.Helper()
	var files mcp.ListArtifactsResult
	a.do(mcp.ToolListArtifacts, map[string]any{"job_id": job}, &files)
	if len(files.Artifacts) != 1 || files.Artifacts[0].Path != "out/report.txt" {
		a.t.Fatalf("artifacts: %+v", files)
	}
	var file mcp.ReadArtifactResult
	a.do(mcp.ToolReadArtifact, map[string]any{"job_id": job, "path": files.Artifacts[0].Path}, &file)
	if file.Text != "it works\n" {
		a.t.Errorf("the artifact is %+v", file)
	}
	a.refused(mcp.ToolReadArtifact, map[string]any{"job_id": job, "path": "out/other.txt"}, "not_found")
}

// debugs has a job fail, and finds the line that says why.
func (a *agent) debugs() string {
	a.t.Helper()
	const why = "cat: can't open '/srv/settings.json': No such file or directory"
	var job mcp.SubmitJobResult
	a.do(mcp.ToolSubmitJob, map[string]any{
		"spec": spec(a.name+" bad", "echo begin; cat /srv/settings.json || exit 3"), "idempotency_key": a.name + "-bad",
	}, &job)
	end := a.readsToTheEnd(&log{job: job.Job.ID})
	if end.State != "failed" || end.ExitCode == nil || *end.ExitCode != 3 || end.Failure == nil {
		a.t.Errorf("the job that fails: %+v", end)
	}
	saysWhy := func(l mcp.LogLine) bool { return l.Text == why }
	var explained mcp.ExplainJobResult
	a.do(mcp.ToolExplainJob, map[string]any{"job_id": job.Job.ID}, &explained)
	if explained.State != "failed" || explained.Failure == nil || len(explained.Next) == 0 || !slices.ContainsFunc(explained.Telling, saysWhy) {
		a.t.Errorf("explained: %+v", explained)
	}
	var read mcp.ReadJobLogResult
	a.do(mcp.ToolReadJobLog, map[string]any{"job_id": job.Job.ID, "errors": true}, &read)
	if !slices.ContainsFunc(read.Lines, saysWhy) || slices.ContainsFunc(read.Lines, func(l mcp.LogLine) bool { return l.Text == "begin" }) {
		a.t.Errorf("the log's errors: %+v", read)
	}
	return job.Job.ID
}

// cancels runs a gated job once more, cancels its own wait, which ends nothing else, and then the job.
func (a *agent) cancels(job string) string {
	a.t.Helper()
	var again mcp.SubmitJobResult
	a.do(mcp.ToolRetryJob, map[string]any{"job_id": job, "idempotency_key": a.name + "-again"}, &again)
	if again.Job.RetryOf != job {
		a.t.Errorf("run once more: %+v", again)
	}
	l := &log{job: again.Job.ID}
	a.readsToTheGate(l)
	a.cancelsWait(l)
	a.do(mcp.ToolCancelJob, map[string]any{"job_id": l.job, "reason": "seen enough"}, &mcp.CancelJobResult{})
	if end := a.readsToTheEnd(l); end.State != "canceled" || !slices.Equal(l.lines, gatedLines[:2]) {
		a.t.Errorf("after cancel_job the job is %+v, its lines are %q", end, l.lines)
	}
	return l.job
}

// ranOnce wants this client's jobs to be these and no others, each run once.
func (a *agent) ranOnce(jobs ...string) {
	a.t.Helper()
	list, err := a.witness.ListJobs(a.t.Context(), mcp.ListJobsArgs{Limit: 100})
	if err != nil {
		a.t.Fatal(err)
	}
	var found []string
	for _, j := range list.Jobs {
		if strings.HasPrefix(j.Name, a.name+" ") {
			found = append(found, j.ID)
			if j.Attempt != 1 {
				a.t.Errorf("%q ran %d times", j.Name, j.Attempt)
			}
		}
	}
	slices.Sort(found)
	slices.Sort(jobs)
	if !slices.Equal(found, jobs) {
		a.t.Errorf("the hub has %q, the client submitted %q", found, jobs)
	}
}
