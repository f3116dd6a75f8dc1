package api

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
)

type progressKey struct{}

// WithProgress has calls that wait tell what happens meanwhile: in one line, and with a number that grows each time.
// tell is called in the call's own goroutine, a second apart at least.
func WithProgress(ctx context.Context, tell func(done int64, message string)) context.Context {
	return context.WithValue(ctx, progressKey{}, tell)
}

// jobProgress is how a use case tells of a job, nil where nobody asked.
func jobProgress(ctx context.Context) func(dispatch.Progress) {
	tell, _ := ctx.Value(progressKey{}).(func(done int64, message string))
	if tell == nil {
		return nil
	}
	return func(p dispatch.Progress) { tell(p.Done, progressLine(p)) }
}

// execProgress is jobProgress of a command in a job.
func execProgress(ctx context.Context) func(hub.Exec) {
	tell, _ := ctx.Value(progressKey{}).(func(done int64, message string))
	if tell == nil {
		return nil
	}
	done, last := int64(0), ""
	return func(x hub.Exec) {
		line := fmt.Sprintf("%s, %s of output", x.State, plural(int(x.Stdout+x.Stderr), "byte"))
		if line != last {
			done++
			last = line
			tell(done, line)
		}
	}
}

// progressLine says how a job stands: running, step 2/3 test, 40 log lines.
func progressLine(p dispatch.Progress) string {
	j := p.Job
	parts := []string{strings.ReplaceAll(string(j.State), "_", " ")}
	switch {
	case j.State.Live() && !j.CancelRequestedAt.IsZero():
		parts[0] = "canceling"
	case j.State == hub.JobRunning && j.Phase != "":
		parts[0] = strings.ReplaceAll(j.Phase, "_", " ")
	}
	if j.Attempt > 1 {
		parts = append(parts, fmt.Sprintf("attempt %d", j.Attempt))
	}
	if j.Step != "" {
		step := "step " + j.Step
		if i := slices.Index(p.Steps, j.Step); i >= 0 {
			step = fmt.Sprintf("step %d/%d %s", i+1, len(p.Steps), j.Step)
		}
		parts = append(parts, step)
	}
	if p.Lines > 0 {
		parts = append(parts, plural(int(p.Lines), "log line"))
	}
	return strings.Join(parts, ", ")
}
