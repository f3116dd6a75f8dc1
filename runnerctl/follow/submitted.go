package follow

import (
	"context"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/runnerctl/iostreams"
)

// Submitted shows a job that a command has just submitted: its id, or the job as JSON; or, where it is followed, its
// log and its end.
func Submitted(ctx context.Context, c Client, io *iostreams.IOStreams, res mcp.SubmitJobResult, follow bool, o Options) error {
	if res.Existing {
		io.Note("the idempotency key had submitted this job before\n")
	}
	for _, n := range res.Notices {
		io.Note("warning: %s\n", n.Message)
		if n.Hint != "" {
			io.Note("  hint: %s\n", cmdutil.Commands(n.Hint))
		}
	}
	o.JobID = res.Job.ID
	if follow {
		io.Note("# job %s\n", o.JobID)
		return Run(ctx, c, io, o)
	}
	if o.JSON {
		return cmdutil.PrintJSON(io, res.Job)
	}
	if io.ErrTTY {
		defer io.Note("follow it with: runnerctl logs %s -f\n", o.JobID)
	}
	return io.Say("%s\n", o.JobID)
}
