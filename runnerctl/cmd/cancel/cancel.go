// Package cancel is `runnerctl cancel`.
package cancel

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
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
	if run == nil {
		run = cancel
	}
	o := &Options{F: f}
	c := &cobra.Command{
		Use:   "cancel JOB",
		Short: "Cancel a job in any state before its end",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.JobID = args[0]
			return run(c.Context(), o)
		},
	}
	c.Flags().StringVar(&o.Reason, "reason", "", "shown to readers of the job, at most 200 bytes")
	cmdutil.AddJSON(c, &o.JSON, mcp.Job{})
	return c
}

func cancel(ctx context.Context, o *Options) error {
	return o.F.AsPerson(func(client *mcpclient.Client) error {
		res, err := client.CancelJob(ctx, mcp.CancelJobArgs{JobID: o.JobID, Reason: o.Reason})
		if err != nil {
			return err
		}
		switch {
		case o.JSON:
			return cmdutil.PrintJSON(o.F.IO, res.Job)
		case res.Job.Canceling:
			return o.F.IO.Say("%s is being stopped by its runner\n", res.Job.ID)
		default:
			return o.F.IO.Say("%s is canceled\n", res.Job.ID)
		}
	})
}
