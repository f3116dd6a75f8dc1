// Package follow shows a job's log while it runs and tells how it ended.
package follow

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/runnerctl/iostreams"
)

// Waiter is what following needs of the hub.
type Waiter interface {
	WaitJob(ctx context.Context, args mcp.WaitJobArgs) (mcp.WaitJobResult, error)
}

// Printer writes log lines: the job's standard output to Out, everything else to
// Err, a service's lines behind its name.
type Printer struct {
	IO         *iostreams.IOStreams
	Timestamps bool
	// midLine holds the writers whose last line was a piece of one.
	midLine map[string]bool
}

// Print writes one line.
func (p *Printer) Print(l mcp.LogLine) error {
	if p.midLine == nil {
		p.midLine = map[string]bool{}
	}
	var w io.Writer = p.IO.Err
	if l.Stream == "stdout" && l.Service == "" {
		w = p.IO.Out
	}
	data := []byte(l.Text)
	if l.Base64 != "" {
		raw, err := base64.StdEncoding.DecodeString(l.Base64)
		if err != nil {
			return fmt.Errorf("the hub sent a log line that is not base64: %w", err)
		}
		data = raw
	}
	source := l.Stream + "/" + l.Service + "/" + l.Step
	prefix := ""
	if !p.midLine[source] {
		if p.Timestamps {
			prefix = l.Time.UTC().Format("2006-01-02T15:04:05.000Z") + " "
		}
		switch {
		case l.Stream == "system":
			prefix += "# "
		case l.Service != "":
			prefix += l.Service + " | "
		}
	}
	p.midLine[source] = l.Partial
	end := "\n"
	if l.Partial {
		end = ""
	}
	_, err := fmt.Fprintf(w, "%s%s%s", prefix, data, end)
	return err
}

// End is how a followed job ended.
type End struct {
	State    string
	ExitCode *int
	Failure  *mcp.Failure
}

// Job prints a job's log from a cursor ("start" for all of it) until the job has ended and all
// of its log was shown. Changes of its state go to standard error.
func Job(ctx context.Context, c Waiter, jobID, cursor string, p *Printer) (End, error) {
	last := ""
	for {
		res, err := c.WaitJob(ctx, mcp.WaitJobArgs{JobID: jobID, Cursor: cursor, WaitMS: mcp.MaxWait})
		if err != nil {
			return End{}, err
		}
		if state := res.State + phase(res); state != last && p.IO.ErrTTY {
			fmt.Fprintf(p.IO.Err, "# %s\n", state)
			last = state
		}
		if res.Omitted > 0 {
			fmt.Fprintf(p.IO.Err, "# … %d bytes of log left out\n", res.Omitted)
		}
		for _, l := range res.Lines {
			if err := p.Print(l); err != nil {
				return End{}, err
			}
		}
		if res.Done {
			return End{State: res.State, ExitCode: res.ExitCode, Failure: res.Failure}, nil
		}
		cursor = res.NextCursor
	}
}

func phase(r mcp.WaitJobResult) string {
	switch {
	case r.Done || r.Phase == "":
		return ""
	case r.Step != "":
		return ": " + r.Phase + " (" + cmdutil.Printable(r.Step) + ")"
	default:
		return ": " + r.Phase
	}
}

// Exit turns a job's end into the program's: nil for succeeded, else the job's own exit code where it has
// one, else the code of the exit table. It says why on standard error.
func Exit(io *iostreams.IOStreams, jobID string, e End) error {
	if e.State == "succeeded" {
		return nil
	}
	fmt.Fprintf(io.Err, "job %s %s", jobID, e.State)
	if e.ExitCode != nil {
		fmt.Fprintf(io.Err, " with exit code %d", *e.ExitCode)
	}
	if e.Failure != nil {
		fmt.Fprintf(io.Err, ": %s (%s)", cmdutil.Printable(e.Failure.Message), e.Failure.Class)
		if e.Failure.Hint != "" {
			fmt.Fprintf(io.Err, "\n  hint: %s", cmdutil.Printable(e.Failure.Hint))
		}
	}
	fmt.Fprintln(io.Err)
	return &cmdutil.ExitError{Code: ExitCode(e)}
}

// ExitCode is the program's exit code for a job's end.
func ExitCode(e End) int {
	switch {
	case e.State == "succeeded":
		return mcp.ExitOK
	case e.State == "canceled":
		return mcp.ExitJobCanceled
	case e.State == "timed_out":
		return mcp.ExitJobTimedOut
	case e.State == "rejected":
		return mcp.ExitRejected
	case e.ExitCode != nil && *e.ExitCode > 0 && *e.ExitCode < 256:
		return *e.ExitCode
	default:
		return mcp.ExitFailure
	}
}
