package attempt

import (
	"context"
	"fmt"
	"strings"
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

// stoppedState is what engines write into the output of a process that came too
// late: its container had ended.
const stoppedState = "cannot exec in a stopped " // state or container, by the version of runc

// runSteps runs the steps one after the other in the job container. After a
// failure only those marked always still run; after a stop none does.
func (x *execution) runSteps() outcome {
	var first *outcome
	results := make([]topology.StepResult, 0, len(x.spec.Steps))
	for i, step := range x.spec.Steps {
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
	x.log.system(step.Name, fmt.Sprintf("Step %d of %d, %s", i+1, len(x.spec.Steps), step.Name))
	result := topology.StepResult{Name: step.Name, StartedAt: time.Now()}
	exit, err := x.execStep(step)
	result.Duration = time.Since(result.StartedAt)

	var out outcome
	switch {
	case x.ctx.Err() != nil:
		out = x.ended(exit, err)
	case topology.KindOf(err) == topology.KindNotRunning, topology.KindOf(err) == topology.KindNotFound:
		out = x.lostJob()
	case x.overtaken(exit, err):
		out = x.lostJob()
	default:
		out = x.exited("the step "+step.Name, exit, err)
	}
	if err == nil {
		result.ExitCode, result.Signal = &exit.Code, signalOf(exit.Code)
	}
	result.Status = stepStatus(out)
	x.log.system(step.Name, fmt.Sprintf("Step %d of %d, %s: %s", i+1, len(x.spec.Steps), step.Name, describeStep(result)))
	return result, out
}

// execStep runs the script and, when the attempt is to stop, ends it.
func (x *execution) execStep(step topology.Step) (topology.Exit, error) {
	x.log.tail.reset()
	x.log.speak() // a step begins to be silent when it begins
	done := make(chan struct{})
	var exit topology.Exit
	var err error
	// The process is waited for as long as the engine lives: one that was told to
	// stop still has something to say. Cutting it loose is finish's affair.
	go func() {
		defer close(done)
		exit, err = x.e.engine.Exec(x.live, x.names.Job, topology.ExecSpec{
			Argv: x.spec.StepArgv(step.Run), Env: step.Environ(), OOMShell: x.spec.HoldingShell(),
		}, func(s topology.Stream, data []byte) { x.log.write(step.Name, s, data) })
	}()
	wait := func(ctx context.Context) (topology.Exit, error) {
		select {
		case <-done:
			return exit, err
		case <-ctx.Done():
			return topology.Exit{}, context.Cause(ctx)
		}
	}
	if exit, err := wait(x.ctx); x.ctx.Err() == nil {
		return exit, err
	}
	code, stopErr := x.terminate(wait, func(ctx context.Context) error {
		return x.e.engine.SignalAll(ctx, x.names.Job, x.spec.HoldingShell(), "SIGTERM")
	})
	if stopErr != nil {
		x.sever(stopErr) // nothing more is to be had of this engine
		<-done
	}
	return code, stopErr
}

// overtaken says whether a step ended as it did because its container had ended, or
// was just ending. An engine answers an exec that came too late with whatever it
// stumbled over, and one that came just in time is killed.
func (x *execution) overtaken(exit topology.Exit, err error) bool {
	var moment time.Duration
	switch {
	case topology.KindOf(err) == topology.KindOther:
		moment = 5 * time.Second
	case err == nil && exit.Code == 126:
		if strings.Contains(strings.Join(x.log.tail.lines(1), ""), stoppedState) {
			return true
		}
		moment = time.Second // a busy engine has no words for it at all
	case err == nil && exit.Code == 137 && !exit.OOM:
		moment = time.Second
	default:
		return false
	}
	ctx, cancel := context.WithTimeout(x.live, moment)
	defer cancel()
	_, waitErr := x.job.Wait(ctx)
	return waitErr == nil
}

// lostJob is the outcome of a job container that ended under its steps: the image
// has no shell to hold it open with, or something killed it.
func (x *execution) lostJob() outcome {
	ctx, cancel := context.WithTimeout(x.live, killTimeout)
	defer cancel()
	exit, err := x.job.Wait(ctx)
	if err == nil && (exit.Code == 127 || exit.Code == 126) {
		o := x.refuse(topology.Failure{
			Class: topology.ClassSpecInvalid, Container: "job",
			Message: fmt.Sprintf("The image %s has no %s, which steps need.", x.spec.Image, x.spec.HoldingShell()),
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
