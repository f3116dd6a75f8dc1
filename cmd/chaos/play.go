package main

import (
	"context"
	"fmt"
	"time"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// play runs a job by its plan, in place of a container engine, and notes what it has logged.
func play(l *ledger) topologytest.RunFunc {
	return func(ctx context.Context, work topology.Work, obs topology.Observer) topology.Result {
		p, err := planOf(work.Spec)
		if err != nil {
			return topology.Result{Status: topology.Failed, Failure: &topology.Failure{Class: topology.ClassScript, Message: err.Error()}}
		}
		ctx, cancel := context.WithTimeout(ctx, time.Duration(work.Spec.Timeout))
		defer cancel()
		obs.Phase(topology.PhaseRunning, "")
		logged := speak(ctx, p, work.Attempt, obs)
		res := end(ctx, p, work.Attempt)
		// Before the result is: an attempt that is reported has its entry.
		l.note(entry{Did: didRun, Job: work.Job, Attempt: work.Attempt, Epoch: work.Epoch, Lines: logged})
		return res
	}
}

// speak logs the plan's lines over its run time, and says how many were taken.
func speak(ctx context.Context, p plan, attempt int, obs topology.Observer) int {
	lines := p.lines(attempt)
	const bursts = 4
	pause := time.Duration(p.RunMS) * time.Millisecond / bursts
	for i, rec := range lines {
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
