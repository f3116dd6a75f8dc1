// Package retry is `runnerctl retry`.
package retry

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/runnerctl/follow"
)

// Options is what the command line says.
type Options struct {
	F      *cmdutil.Factory
	JobID  string
	Key    string
	Follow bool
	JSON   bool
}

// New makes the command; run replaces its body in tests.
func New(f *cmdutil.Factory, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{F: f}
	c := &cobra.Command{
		Use:   "retry JOB",
		Short: "Run an ended job's spec again, as a new job",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.JobID = args[0]
			if run != nil {
				return run(c.Context(), o)
			}
			return retry(c.Context(), o)
		},
	}
	c.Flags().StringVar(&o.Key, "idempotency-key", "", "the same key again returns the same job")
	c.Flags().BoolVarP(&o.Follow, "follow", "f", false, "show the log until the job ends, and exit with its exit code")
	cmdutil.AddJSON(c, &o.JSON, mcp.Job{})
	c.MarkFlagsMutuallyExclusive("follow", "json")
	return c
}

func retry(ctx context.Context, o *Options) error {
	client, err := o.F.People()
	if err != nil {
		return err
	}
	defer client.Close() //nolint:errcheck // nothing is under way any more
	res, err := client.RetryJob(ctx, mcp.RetryJobArgs{JobID: o.JobID, IdempotencyKey: o.Key})
	if err != nil {
		return err
	}
	switch {
	case o.JSON:
		return cmdutil.PrintJSON(o.F.IO, res.Job)
	case !o.Follow:
		_, err = fmt.Fprintln(o.F.IO.Out, res.Job.ID)
		return err
	}
	fmt.Fprintf(o.F.IO.Err, "# job %s\n", res.Job.ID)
	end, err := follow.Job(ctx, client, res.Job.ID, "start", &follow.Printer{IO: o.F.IO})
	if err != nil {
		return err
	}
	return follow.Exit(o.F.IO, res.Job.ID, end)
}
