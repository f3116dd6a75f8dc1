package agent

import (
	"context"
	"errors"
	"log/slog"
	"reflect"

	"github.com/runnerhub/runnerhub/mcp"
)

// delivery is what became of a report.
type delivery int

const (
	unsent    delivery = iota // not yet: it stays in the spool
	delivered                 // the hub has it
	declined                  // the hub does not want it any more: stale, settled or unknown
)

// deliver tells the hub how an attempt ended, as often as it takes, until ctx
// ends. Repeating is harmless: the hub knows a report that it has.
func deliver(ctx context.Context, c Client, p mcp.LeaseProof, r *report, logger *slog.Logger) (delivery, error) {
	pause := hubBackoff()
	for tries := 1; ; tries++ {
		err := sendReport(ctx, c, p, r)
		switch {
		case err == nil:
			return delivered, nil
		case r.Release != nil && tries > 1 && codeOf(err) == mcp.CodeStaleLease:
			return delivered, nil // an earlier try had its effect and its answer was lost
		case refused(err):
			return unsent, err
		case lost(err):
			return declined, err
		case !again(err) && ctx.Err() == nil:
			if r = simpler(r, err); r == nil {
				return declined, err
			}
			logger.Error("the hub does not take the result as it is; reporting less of it", "err", err)
			continue
		}
		if ctx.Err() == nil {
			logger.Debug("the hub does not take the report now", "err", err)
		}
		if !pause.wait(ctx, err) {
			return unsent, err
		}
	}
}

func sendReport(ctx context.Context, c Client, p mcp.LeaseProof, r *report) error {
	switch {
	case r.Result != nil:
		res, err := c.SubmitJobResult(ctx, mcp.SubmitJobResultArgs{LeaseProof: p, Result: *r.Result})
		return accepted(res.Settled(), err)
	case r.Fail != nil:
		res, err := c.FailJob(ctx, mcp.FailJobArgs{LeaseProof: p, Class: r.Fail.Class, Message: r.Fail.Message, Hint: r.Fail.Hint})
		return accepted(res, err)
	default:
		_, err := c.ReleaseJob(ctx, mcp.ReleaseJobArgs{LeaseProof: p, Reason: *r.Release})
		return err
	}
}

func accepted(res mcp.SettleResult, err error) error {
	if err == nil && !res.Accepted && !res.Duplicate {
		return &mcp.Error{Code: mcp.CodeAlreadySettled, Message: "the hub did not accept the report"}
	}
	return err
}

// simpler is what to report when the hub finds fault with a result: a job must not hang because of it. An older hub knows
// less than this runner tells, so what the first release knew comes first. It is nil for what is as simple as can be.
func simpler(r *report, cause error) *report {
	if r.Result == nil {
		return nil
	}
	if old := firstRelease(r.Result); !reflect.DeepEqual(old, r.Result) {
		return &report{Result: old}
	}
	message := cause.Error()
	var e *mcp.Error
	if errors.As(cause, &e) {
		message = e.Message
	}
	return &report{Fail: &failReport{
		Class: "internal", Message: clip("The job ended as "+r.Result.Status+", but the hub refused the report: "+message, maxMessage),
		Hint: "See whether hub and runner are of the same release.",
	}}
}

// firstRelease is a result without the fields that were added to protocol 1 after its first release, whose hubs refuse
// fields that they do not know.
func firstRelease(r *mcp.Result) *mcp.Result {
	return &mcp.Result{
		Status: r.Status, ExitCode: r.ExitCode, Signal: r.Signal, Failure: r.Failure, Steps: r.Steps, Outputs: r.Outputs, Images: r.Images,
		Usage: mcp.Usage{CPUMS: r.Usage.CPUMS, MemoryPeakBytes: r.Usage.MemoryPeakBytes, WallMS: r.Usage.WallMS},
		Leaks: r.Leaks, LogBytes: r.LogBytes,
	}
}
