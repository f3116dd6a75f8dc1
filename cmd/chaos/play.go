package main

import (
	"context"
	"fmt"
	"time"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// engine plays jobs in place of a container engine. When a runner that was killed takes a job up again, the
// job has gone on, and what it says from the last line that the runner has kept is heard.
func engine(l *ledger) *topologytest.Executor {
	e := topologytest.NewExecutor(play(l, nil))
	e.AdoptScript = func(left topology.Resume) topologytest.RunFunc { return play(l, left.Offsets) }
	return e
}

// play runs a job by its plan, and notes what it has logged. What is kept of its log already is not said again.
func play(l *ledger, kept map[string]topology.Offsets) topologytest.RunFunc {
	return func(ctx context.Context, work topology.Work, obs topology.Observer) topology.Result {
		p, err := planOf(work.Spec)
		if err != nil {
			return topology.Result{Status: topology.Failed, Failure: &topology.Failure{Class: topology.ClassScript, Message: err.Error()}}
		}
		ctx, cancel := context.WithTimeout(ctx, time.Duration(work.Spec.Timeout))
		defer cancel()
		obs.Phase(topology.PhaseRunning, "")
		logged := speak(ctx, p, work.Attempt, kept[""], obs)
		res := end(ctx, p, work.Attempt)
		// Before the result is: an attempt that is reported has its entry.
		l.note(entry{Did: didRun, Job: work.Job, Attempt: work.Attempt, Epoch: work.Epoch, Lines: logged})
		return res
	}
}

// speak logs the plan's lines over its run time, but for those that are kept, and says how many were taken.
func speak(ctx context.Context, p plan, attempt int, kept topology.Offsets, obs topology.Observer) int {
	lines := p.lines(attempt)
	const bursts = 4
	pause := time.Duration(p.RunMS) * time.Millisecond / bursts
	var said topology.Offsets
	for i, rec := range lines {
		end := said.Of(rec.Stream)
		if end.Bytes += int64(len(rec.Data)); end.Bytes <= kept.Of(rec.Stream).Bytes {
			continue
		}
		rec.Offset = end.Bytes
		if i*bursts/len(lines) != (i-1)*bursts/len(lines) && !wait(ctx, pause) {
			return i
		}
		rec.Time = time.Now()
		if obs.Log(rec) != nil || ctx.Err() != nil {
			return i + 1
		}
	}
	if !p.whole() {
		<-ctx.Done()
	}
	return len(lines)
}

// end is how an attempt ends.
func end(ctx context.Context, p plan, attempt int) topology.Result {
	res := topology.Result{Status: topology.Succeeded}
	switch {
	case ctx.Err() != nil:
		res = topologytest.Ended(ctx)
	case p.Kind == flaky && attempt <= p.Flaky:
		res.Status = topology.Failed
		res.Failure = &topology.Failure{Class: topology.ClassImagePull, Message: "the registry is away, as planned"}
		return res
	case p.Kind == fails:
		res.Status = topology.Failed
		res.Failure = &topology.Failure{Class: topology.ClassScript, Message: fmt.Sprintf("exited with code %d, as planned", p.Exit), Container: "job"}
		res.ExitCode = &p.Exit
	default:
		res.ExitCode = &p.Exit
	}
	res.Images = p.output(attempt)
	return res
}

// wait is false if ctx ended first.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
