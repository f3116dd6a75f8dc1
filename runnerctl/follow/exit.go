package follow

import (
	"strings"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/runnerctl/iostreams"
)

// exit turns a job's end into the program's and says on standard error why it is no success.
func exit(io *iostreams.IOStreams, r mcp.WaitJobResult) error {
	if r.State == "succeeded" {
		return nil
	}
	if r.Held != nil {
		r.State = r.Held.Status
	}
	io.Note("job %s %s", r.JobID, r.State)
	if r.ExitCode != nil {
		io.Note(" with exit code %d", *r.ExitCode)
	}
	if r.Failure != nil {
		class := ""
		if r.Failure.Class != r.State { // as with a job that was canceled
			class = " (" + r.Failure.Class + ")"
		}
		if message := strings.TrimRight(r.Failure.Message, " \n"); strings.Contains(message, "\n") {
			io.Note("%s: %s", class, message) // it ends in what a program wrote, or in a command
		} else {
			io.Note(": %s%s", strings.TrimRight(message, "."), class)
		}
		if r.Failure.Hint != "" {
			io.Note("\n  hint: %s", cmdutil.Commands(r.Failure.Hint))
		}
	}
	io.Note("\n")
	if h := r.Held; h != nil {
		io.Note("  its containers are held for %s more: look into them with `runnerctl exec %s -- COMMAND`, let go of them with `runnerctl release %s`\n",
			(time.Duration(h.LeftMS) * time.Millisecond).Round(time.Second), r.JobID, r.JobID)
	}
	return &cmdutil.ExitError{Code: exitCode(r)}
}

// exitCode is the job's own exit code where it failed with one, else the code of the exit table.
func exitCode(r mcp.WaitJobResult) int {
	switch {
	case r.State == "succeeded":
		return mcp.ExitOK
	case r.State == "canceled":
		return mcp.ExitJobCanceled
	case r.State == "timed_out":
		return mcp.ExitJobTimedOut
	case r.State == "rejected":
		return mcp.ExitRejected
	case r.ExitCode != nil && *r.ExitCode > 0 && *r.ExitCode < 256:
		return *r.ExitCode
	default:
		return mcp.ExitFailure
	}
}
