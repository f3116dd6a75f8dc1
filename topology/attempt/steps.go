package attempt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// The statuses of a step.
const (
	stepSucceeded = "succeeded"
	stepFailed    = "failed"
	stepCanceled  = "canceled"
	stepTimedOut  = "timed_out"
	stepSkipped   = "skipped"
)

// runSteps runs the steps one after the other in the job container. After a
// failure only those marked always still run; after a stop none does.
func (x *execution) runSteps() outcome {
	first := x.resumed.first()
	results := append(make([]topology.StepResult, 0, len(x.spec.Steps)), x.resumed.Steps...)
	for i, step := range x.spec.Steps {
		if i < len(results) {
			continue // it had ended before this process took the attempt up
		}
		x.saveSteps(results, first)
		over := first != nil && (first.stopped || !step.Always)
		if over || x.ctx.Err() != nil {
			if first == nil {
				o := x.ended(topology.Exit{}, context.Cause(x.ctx))
				first = &o
			}
			results = append(results, topology.StepResult{Name: step.Name, Status: stepSkipped})
			x.log.system(step.Name, fmt.Sprintf("Step %d of %d, %s: skipped", i+1, len(x.spec.Steps), step.Name))
			continue
		}
		result, out := x.runStep(i, step)
		results = append(results, result)
		if first == nil && result.Status != stepSucceeded {
			first = &out
		}
		if first != nil && out.stopped {
			first.stopped = true // no always step runs in a container that is gone
			if first.result.Status == topology.Failed && out.result.Status != topology.Failed {
				first = &out
			}
		}
	}
	if first == nil {
		x.readUsage()
		zero := 0
		first = &outcome{result: topology.Result{Status: topology.Succeeded, ExitCode: &zero}}
	} else if !first.stopped {
		x.readUsage()
	}
	first.result.Steps = results
	return *first
}

// runStep runs one step and logs its boundaries.
func (x *execution) runStep(i int, step topology.Step) (topology.StepResult, outcome) {
	x.obs.Phase(topology.PhaseRunning, step.Name)
	if !x.resumed.began(i) {
		x.log.system(step.Name, fmt.Sprintf("Step %d of %d, %s", i+1, len(x.spec.Steps), step.Name))
	}
	result := topology.StepResult{Name: step.Name, StartedAt: x.stepBegins(i)}
	exit, err := x.execStep(i, step)
	result.Duration = time.Since(result.StartedAt)

	var out outcome
	switch {
	case x.ctx.Err() != nil:
		out = x.ended(exit, err)
	case topology.KindOf(err) == topology.KindNotRunning, topology.KindOf(err) == topology.KindNotFound:
		out = x.lostJob()
	default:
		out = x.exited("the step "+step.Name, exit, err)
		if err == nil && exit.Code == 127 && x.lacksShell() {
			out.result.Failure = &topology.Failure{
				Class: topology.ClassSpecInvalid, Container: "job",
				Message: fmt.Sprintf("%s has no %s, which the spec wants its steps to be run by.", place(x.spec), x.spec.StepArgv("")[0]),
				Hint:    "Set `shell` to one that it has.",
			}
		}
	}
	if err == nil {
		result.ExitCode, result.Signal = &exit.Code, signalOf(exit.Code)
	}
	result.Status = stepStatus(out)
	x.log.system(step.Name, fmt.Sprintf("Step %d of %d, %s: %s", i+1, len(x.spec.Steps), step.Name, describeStep(result)))
	return result, out
}

// execStep has the script run by the job container's shell and, when the attempt is
// to stop, ends it.
func (x *execution) execStep(i int, step topology.Step) (topology.Exit, error) {
	if !x.resumed.began(i) {
		x.log.tail.reset()
	}
	x.log.speak() // a step begins to be silent when it begins
	end := x.marks.end(i + 1)
	if _, err := x.job.Write(fmt.Appendf(nil, "%d\n", i+1)); err != nil {
		x.e.opts.Logger.Debug("the next step cannot be asked for", "step", step.Name, "error", err) // the container has ended, or the engine is gone: both show below
	}
	wait := func(ctx context.Context) (topology.Exit, error) {
		select {
		case <-end.done:
			return topology.Exit{Code: end.code}, nil
		case <-x.jobEnded:
		case <-ctx.Done():
			return topology.Exit{}, context.Cause(ctx)
		}
		select {
		case <-end.done: // the last that the container said
			return topology.Exit{Code: end.code}, nil
		default:
		}
		if x.ctx.Err() != nil || x.jobErr != nil {
			return x.jobExit, x.jobErr
		}
		return topology.Exit{}, errJobEnded
	}
	if exit, err := wait(x.ctx); x.ctx.Err() == nil {
		if err == nil && exit.Code != 0 {
			exit.OOM = x.e.engine.OutOfMemory(x.live, x.names.Job, x.spec.HoldingShell())
		}
		return exit, err
	}
	code, stopErr := x.terminate(wait, func(ctx context.Context) error {
		return x.e.engine.SignalAll(ctx, x.names.Job, x.spec.HoldingShell(), "SIGTERM")
	})
	if stopErr != nil {
		x.sever(stopErr) // nothing more is to be had of this engine
	}
	return code, stopErr
}

// lacksShell says whether the image is without the program that runs its steps. The shell that starts it tells that by
// the code of a script that calls what there is not.
func (x *execution) lacksShell() bool {
	program, holding := x.spec.StepArgv("")[0], x.spec.HoldingShell()
	if program == holding {
		return false
	}
	ctx, cancel := context.WithTimeout(x.live, killTimeout)
	defer cancel()
	look := topology.ExecSpec{Argv: []string{holding, "-c", `command -v "$1"`, holding, program}}
	exit, err := x.e.engine.Exec(ctx, x.names.Job, look, func(topology.Stream, []byte) {})
	return err == nil && exit.Code != 0
}

// errJobEnded is the end of a job container while a step was to run in it.
var errJobEnded = &topology.EngineError{Kind: topology.KindNotRunning, Op: "run a step", Err: errors.New("the job container has ended")}

// lostJob is the outcome of a job container that ended under its steps: the image
// has no shell to hold it open with, or something killed it.
func (x *execution) lostJob() outcome {
	ctx, cancel := context.WithTimeout(x.live, killTimeout)
	defer cancel()
	exit, err := x.job.Wait(ctx)
	if err == nil && (exit.Code == 127 || exit.Code == 126) {
		o := x.refuse(topology.Failure{
			Class: topology.ClassSpecInvalid, Container: "job",
			Message: fmt.Sprintf("%s has no %s, which steps and sessions need.", place(x.spec), x.spec.HoldingShell()),
			Hint:    "Use an image with a shell, or `command` instead of `steps`.",
		})
		o.stopped = true
		return o
	}
	if err == nil && exit.Code == 0 {
		exit.Code = 137 // it was held open to be killed only; its own end is no success of the step's
	}
	o := x.exited("the job container", exit, err)
	o.stopped = true
	return o
}

func stepStatus(o outcome) string {
	switch o.result.Status {
	case topology.Succeeded:
		return stepSucceeded
	case topology.Canceled:
		return stepCanceled
	case topology.TimedOut:
		return stepTimedOut
	}
	return stepFailed
}

func describeStep(r topology.StepResult) string {
	text := r.Status
	switch {
	case r.Signal != "":
		text += " by " + r.Signal
	case r.ExitCode != nil && *r.ExitCode != 0:
		text += fmt.Sprintf(" with exit code %d", *r.ExitCode)
	}
	return text + " in " + r.Duration.Round(time.Millisecond).String()
}
