package attempt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// runSession runs the steps that set a session up, and then keeps its container for callers until nobody has used it for the
// spec's idle time, somebody ends it, or the attempt is to stop. Whoever takes the attempt up starts the idle time anew.
func (x *execution) runSession() outcome {
	out := x.runSteps()
	if out.result.Status != topology.Succeeded {
		return out
	}
	x.obs.Phase(topology.PhaseRunning, "")
	limit := time.Duration(x.spec.IdleTimeout)
	x.say("The session is open: it ends when nobody has used it for %s, or when somebody ends it", limit)
	note, err := x.serve(limit)
	defer x.use.abandon()
	switch {
	case x.ctx.Err() != nil:
		return x.cutShort(out)
	case err != nil:
		return withSteps(x.lostJob(), out)
	}
	x.readUsage()
	x.use.abandon() // what is collected then is not written to by them
	ctx, cancel := context.WithTimeout(x.live, killPatience)
	defer cancel()
	if err := x.use.quiet(ctx); err != nil {
		x.e.opts.Logger.Warn("a command of a session does not end", "job", x.id.Job, "error", err)
	}
	x.say("The session ends: %s", note)
	out.result.Note = sentence(note)
	return out
}

// serve waits for the end of a session and says what ended it. The error is that the container has ended; where the attempt
// is to stop there is neither.
func (x *execution) serve(limit time.Duration) (note string, err error) {
	defer x.use.close()
	x.use.open()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		busy, since := x.use.idle()
		if x.work.Used != nil {
			x.work.Used(busy, since.Add(limit))
		}
		if !busy {
			timer.Reset(time.Until(since.Add(limit)))
		}
		select {
		case <-x.use.changed:
		case <-timer.C:
			if x.use.closeIdle(limit) {
				return fmt.Sprintf("nobody has used it for %s", limit), nil
			}
		case <-x.work.LetGo:
			return "somebody has ended it", nil
		case <-x.jobEnded:
			return "", errJobEnded
		case <-x.ctx.Done():
			return "", nil
		}
	}
}

// cutShort ends a session that is to stop: what callers run in it has the job's grace.
func (x *execution) cutShort(setUp outcome) outcome {
	quiet := func(ctx context.Context) (topology.Exit, error) { return topology.Exit{}, x.use.quiet(ctx) }
	_, err := x.terminate(quiet, func(ctx context.Context) error {
		return x.e.engine.SignalAll(ctx, x.names.Job, x.spec.HoldingShell(), "SIGTERM")
	})
	if err != nil {
		x.e.opts.Logger.Warn("a session's commands were not seen to end", "job", x.id.Job, "error", err)
	}
	out := x.ended(topology.Exit{}, errSessionOver)
	if errors.Is(context.Cause(x.ctx), topology.ErrDraining) {
		// Another runner would begin with an empty workspace, and whoever works in this one would not know.
		out.result.Status = topology.Failed
		out.result.Failure = &topology.Failure{
			Class: topology.ClassRunnerLost, Message: "The runner was stopped while the session was open.",
			Hint: "Submit the session again. What was in its workspace is gone.",
		}
	}
	if errors.Is(context.Cause(x.ctx), errTimedOut) {
		out.result.Failure.Message = "The session reached its end" + x.limit() + "."
		out.result.Failure.Hint = "Raise timeout in the spec; artifacts are kept all the same."
	}
	return withSteps(out, setUp)
}

// withSteps is an outcome with what setting the session up came to.
func withSteps(o, setUp outcome) outcome {
	o.result.Steps = setUp.result.Steps
	return o
}
