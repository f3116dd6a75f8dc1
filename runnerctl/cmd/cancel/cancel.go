// Package cancel is `runnerctl cancel`.
package cancel

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
)

// Options is what the command line says.
type Options struct {
	F      *cmdutil.Factory
	JobID  string
	Reason string
	JSON   bool
}

// New makes the command; run replaces its body in tests.
func New(f *cmdutil.Factory, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{F: f}
	c := &cobra.Command{
		Use:   "cancel JOB",
		Short: "Cancel a job in any state before its end",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.JobID = args[0]
			if run != nil {
				return run(c.Context(), o)
			}
			return cancel(c.Context(), o)
		},
	}
	c.Flags().StringVar(&o.Reason, "reason", "", "shown to readers of the job")
	cmdutil.AddJSON(c, &o.JSON, mcp.Job{})
	return c
}

func cancel(ctx context.Context, o *Options) error {
	client, err := o.F.People()
	if err != nil {
		return err
	}
	defer client.Close() //nolint:errcheck // nothing is under way any more
	res, err := client.CancelJob(ctx, mcp.CancelJobArgs{JobID: o.JobID, Reason: o.Reason})
	if err != nil {
		return err
	}
	if o.JSON {
		return cmdutil.PrintJSON(o.F.IO, res.Job)
	}
	what := "is canceled"
	if res.Job.Canceling {
		what = "is being stopped by its runner"
	}
	_, err = fmt.Fprintf(o.F.IO.Out, "%s %s\n", res.Job.ID, what)
	return err
}
