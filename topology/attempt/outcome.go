package attempt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// outcome is how the work of an attempt ended.
type outcome struct {
	result topology.Result
	// stopped says that the job container has been or is to be ended, so that nothing
	// more can run in it.
	stopped bool
}

// failureError is a failure on its way through code that returns errors.
type failureError struct{ failure topology.Failure }

func (e *failureError) Error() string { return e.failure.Message }

// atOnceError is a cause for which the job is killed without a grace.
type atOnceError struct{ error }

func (e *atOnceError) Unwrap() error { return e.error }

// refuse is the outcome of an attempt that failed for f.
func (x *execution) refuse(f topology.Failure) outcome {
	return outcome{result: topology.Result{Status: topology.Failed, Failure: &f}}
}

// failed is the outcome of an attempt that did not get to its job. What ended the
// attempt counts more than the errors that this led to.
func (x *execution) failed(err error) outcome {
	if x.ctx.Err() != nil {
		return x.ended(topology.Exit{}, err)
	}
	f := failureOf(err)
	if x.jobStarted() && topology.KindOf(err) == topology.KindUnavailable {
		f.Message = "The connection to the Docker engine broke while the job ran, because it was stopped or restarted for example: " + f.Message
	}
	o := x.refuse(f)
	o.stopped = true
	return o
}

// exited is the outcome of a process that ended by itself: the job's ("the job")
// or a step's ("the step build").
func (x *execution) exited(who string, exit topology.Exit, err error) outcome {
	if err != nil {
		return x.failed(err)
	}
	code := exit.Code
	o := outcome{result: topology.Result{Status: topology.Succeeded, ExitCode: &code, Signal: signalOf(code)}}
	if code == 0 {
		return o
	}
	o.result.Status = topology.Failed
	if exit.Outside {
		f := outsideFailure("job")
		o.result.Failure, o.stopped = &f, true
		return o
	}
	said := x.log.tail.lines(3)
	f := explainExit(who, exit, x.spec, said)
	if f.Class == topology.ClassScript && saysFull(said) {
		x.explainFull(&f, x.spec.Resources, x.names.Job)
	}
	o.result.Failure = &f
	return o
}

// ended is the outcome of an attempt that was ended early. exit is that of the
// process, unless err says that it is not known.
func (x *execution) ended(exit topology.Exit, err error) outcome {
	o := outcome{stopped: true}
	if err == nil {
		o.result.ExitCode, o.result.Signal = &exit.Code, signalOf(exit.Code)
	}
	cause := context.Cause(x.ctx)
	var failure *failureError
	switch {
	case errors.As(cause, &failure):
		o.result.Status, o.result.Failure = topology.Failed, &failure.failure
	case errors.Is(cause, errTimedOut), errors.Is(cause, context.DeadlineExceeded):
		o.result.Status = topology.TimedOut
		o.result.Failure = &topology.Failure{
			Class: topology.ClassTimeout, Container: "job",
			Message: "The job ran out of time" + x.limit() + ".",
			Hint:    "Raise timeout in the spec, or find out what takes so long; the log says what ran last.",
		}
	case errors.Is(cause, errIdle):
		o.result.Status = topology.TimedOut
		o.result.Failure = &topology.Failure{
			Class: topology.ClassTimeout, Container: "job",
			Message: fmt.Sprintf("The job wrote nothing for %s (idle_timeout).", time.Duration(x.spec.IdleTimeout)),
			Hint:    "Find out what hangs, have it write something while it works, or raise idle_timeout in the spec.",
		}
	case errors.Is(cause, topology.ErrCanceled), errors.Is(cause, topology.ErrStale),
		errors.Is(cause, topology.ErrDraining), errors.Is(cause, context.Canceled):
		o.result.Status = topology.Canceled
		o.result.Failure = &topology.Failure{Class: topology.ClassCanceled, Message: sentence(x.why())}
	default: // an engine's error that a watcher met
		f := failureOf(cause)
		o.result.Status, o.result.Failure = topology.Failed, &f
	}
	return o
}

// why says what ended the attempt, to go on in a sentence.
func (x *execution) why() string {
	cause := context.Cause(x.ctx)
	if errors.Is(cause, context.Canceled) {
		cause = topology.ErrCanceled
	}
	return cause.Error()
}

func (x *execution) limit() string {
	if x.spec.Timeout <= 0 {
		return ""
	}
	return fmt.Sprintf(" (%s)", time.Duration(x.spec.Timeout))
}

// defaultGrace is the time between SIGTERM and SIGKILL where the spec names none.
const defaultGrace = 10 * time.Second

// grace is how long the job may take to end, by the reason that it is ended for.
func (x *execution) grace() time.Duration {
	var atOnce *atOnceError
	switch {
	case errors.As(context.Cause(x.ctx), &atOnce):
		return 0
	case errors.Is(context.Cause(x.ctx), topology.ErrStale):
		return 0 // another runner may have the job by now
	case x.spec.Grace > 0:
		return time.Duration(x.spec.Grace)
	}
	return defaultGrace
}

// result completes an outcome.
func (x *execution) result(o outcome) topology.Result {
	r := o.result
	x.mu.Lock()
	r.Usage = x.usage
	x.mu.Unlock()
	r.Images, r.Warm = x.digests(), x.saved.Warm
	if r.Failure != nil && r.Failure.Class != topology.ClassCanceled {
		x.say("%s", r.Failure.Message)
		if r.Failure.Hint != "" {
			x.say("Hint: %s", r.Failure.Hint)
		}
	}
	return r
}

// digests says which images the attempt runs, by reference.
func (x *execution) digests() map[string]string {
	if len(x.observed.Images) == 0 {
		return x.resumed.Images
	}
	out := map[string]string{}
	for ref, image := range x.observed.Images {
		if out[ref] = image.Digest; image.Digest == "" {
			out[ref] = image.ID
		}
	}
	return out
}

// logFailed ends the attempt when its log cannot be kept.
func (x *execution) logFailed(err error) {
	f := topology.Failure{Class: topology.ClassInternal, Message: "The job's log could not be kept: " + err.Error()}
	if isDiskFull(err) {
		f.Class, f.Hint = topology.ClassDiskFull, "Free space on the runner's machine."
	}
	x.stop(&failureError{f})
}
