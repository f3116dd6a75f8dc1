// Package follow shows a job's log while it runs and tells how it ended.
package follow

import (
	"context"
	"errors"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/runnerctl/iostreams"
)

// patience is how many calls in a row may fail while the hub is away. The client repeats each for 20 s by
// itself, so a hub may be away for some minutes. The job goes on in the meantime.
const patience = 15

// Client is what following needs of the hub.
type Client interface {
	WaitJob(ctx context.Context, args mcp.WaitJobArgs) (mcp.WaitJobResult, error)
	GetJob(ctx context.Context, ref mcp.JobRef) (mcp.GetJobResult, error)
	ExplainJob(ctx context.Context, ref mcp.JobRef) (mcp.ExplainJobResult, error)
}

// How long a job that nobody runs may wait before it is said what for, and how often it is looked whether that is
// still so, in milliseconds; and how many pieces of advice come with the first word on it.
const (
	firstWait  = 2_000
	heldWait   = 1_000 // for the last lines of a job that is held
	queuedWait = 10_000
	maxAdvice  = 3
)

// Options say how a job is followed.
type Options struct {
	JobID      string
	Timestamps bool
	JSON       bool // the job as JSON on standard output once it has ended; its whole log goes to standard error
}

// Run prints a job's log from its start until it has ended, and returns what the program ends with: nil where the job
// succeeded. An interruption leaves the job running, and says so.
func Run(ctx context.Context, c Client, io *iostreams.IOStreams, o Options) error {
	log := io
	if o.JSON {
		log = io.AllTo(io.Err, io.ErrTTY)
	}
	last, err := watch(ctx, c, &Printer{IO: log, Timestamps: o.Timestamps}, o.JobID)
	if ctx.Err() != nil {
		io.Note("\ninterrupted; the job goes on. Follow it again with `runnerctl logs %s -f`, or end it with `runnerctl cancel %s`\n", o.JobID, o.JobID)
		return &cmdutil.ExitError{Code: mcp.ExitInterrupted}
	}
	if err != nil {
		return err
	}
	if o.JSON {
		got, err := c.GetJob(ctx, mcp.JobRef{JobID: o.JobID})
		if err != nil {
			return err
		}
		if err := cmdutil.PrintJSON(io, got.Job); err != nil {
			return err
		}
	}
	return exit(io, last)
}

// watch prints until the job has ended and all of its log was shown. Changes of its state go to a terminal.
func watch(ctx context.Context, c Client, p *Printer, jobID string) (mcp.WaitJobResult, error) {
	cursor, shown, failed := "start", "", patience
	wait, queued, held, why := int64(mcp.MaxWait), false, false, ""
	for {
		res, err := c.WaitJob(ctx, mcp.WaitJobArgs{JobID: jobID, Cursor: cursor, WaitMS: wait, Raw: true})
		if err != nil {
			if failed++; failed >= patience || ctx.Err() != nil || !away(err) {
				return res, err
			}
			if failed == 1 {
				p.IO.Note("# %s; trying again\n", cmdutil.Message(err))
			}
			continue
		}
		failed = 0
		if state := res.State + phase(res); state != shown && p.IO.ErrTTY {
			p.IO.Note("# %s\n", state)
			shown = state
		}
		if res.Omitted > 0 {
			p.IO.Note("# … %d bytes of log left out\n", res.Omitted)
		}
		for _, l := range res.Lines {
			if err := p.Print(l); err != nil {
				return res, err
			}
		}
		if res.Done {
			return res, nil
		}
		if res.Held != nil {
			if held && len(res.Lines) == 0 { // the log's end has had time to come
				return res, nil
			}
			held, cursor, wait = true, res.NextCursor, heldWait
			continue
		}
		cursor = res.NextCursor
		switch waits := res.State == "queued"; {
		case !waits:
			wait, queued = mcp.MaxWait, false
		case !queued: // most jobs start within a moment
			wait, queued = firstWait, true
		default:
			wait, why = queuedWait, waiting(ctx, c, p.IO, jobID, why)
		}
	}
}

// waiting says what a queued job waits for, unless that was the last thing said. Not to know is no reason to stop.
func waiting(ctx context.Context, c Client, io *iostreams.IOStreams, jobID, said string) string {
	e, err := c.ExplainJob(ctx, mcp.JobRef{JobID: jobID})
	if err != nil || e.State != "queued" || e.Summary == said {
		return said
	}
	io.Note("# %s\n", cmdutil.Commands(e.Summary))
	for i, n := range e.Next {
		if i < maxAdvice && said == "" {
			io.Note("#   %s\n", cmdutil.Commands(n))
		}
	}
	return e.Summary
}

// away tells whether the hub cannot be reached just now.
func away(err error) bool {
	e, ok := errors.AsType[*mcp.Error](err)
	return ok && e.Retryable && (e.Code == mcp.CodeUnavailable || e.Code == mcp.CodeDraining)
}

func phase(r mcp.WaitJobResult) string {
	switch {
	case r.Done || r.Phase == "":
		return ""
	case r.Step != "":
		return ": " + r.Phase + " (" + r.Step + ")"
	default:
		return ": " + r.Phase
	}
}
