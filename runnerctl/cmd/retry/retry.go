// Package retry is `runnerctl retry`.
package retry

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/runnerctl/follow"
)

// Options is what the command line says.
type Options struct {
	F          *cmdutil.Factory
	JobID      string
	Key        string
	Follow     bool
	Timestamps bool
	JSON       bool
}

// New makes the command; run replaces its body in tests.
func New(f *cmdutil.Factory, run func(context.Context, *Options) error) *cobra.Command {
	if run == nil {
		run = retry
	}
	o := &Options{F: f}
	c := &cobra.Command{
		Use:   "retry JOB",
		Short: "Run an ended job's spec again, as a new job",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.JobID = args[0]
			return run(c.Context(), o)
		},
	}
	c.Flags().StringVar(&o.Key, "idempotency-key", "", "the same key again returns the same job")
	c.Flags().BoolVarP(&o.Follow, "follow", "f", false, "show the log until the job ends, and exit with its exit code")
	c.Flags().BoolVar(&o.Timestamps, "timestamps", false, "with --follow: the time before each line, in UTC")
	cmdutil.AddJSON(c, &o.JSON, mcp.Job{})
	return c
}

func retry(ctx context.Context, o *Options) error {
	return o.F.AsPerson(func(client *mcpclient.Client) error {
		res, err := client.RetryJob(ctx, mcp.RetryJobArgs{JobID: o.JobID, IdempotencyKey: o.Key})
		if err != nil {
			return err
		}
		return follow.Submitted(ctx, client, o.F.IO, res, o.Follow, follow.Options{Timestamps: o.Timestamps, JSON: o.JSON})
	})
}
