// Package retry is `runnerctl retry`.
package retry

import (
	"context"
	"encoding/json"

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
	Changes    string
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
		Example: `  runnerctl retry job_01a2… --follow
  runnerctl retry job_01a2… --changes '{env: {DEBUG: "1"}}'`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.JobID = args[0]
			return run(c.Context(), o)
		},
	}
	c.Flags().StringVar(&o.Changes, "changes", "", "what is different in its spec, as YAML or JSON: a merge patch (RFC 7396)")
	c.Flags().StringVar(&o.Key, "idempotency-key", "", "the same key again returns the same job")
	c.Flags().BoolVarP(&o.Follow, "follow", "f", false, "show the log until the job ends, and exit with its exit code")
	c.Flags().BoolVar(&o.Timestamps, "timestamps", false, "with --follow: the time before each line, in UTC")
	cmdutil.AddJSON(c, &o.JSON, mcp.Job{})
	return c
}

func retry(ctx context.Context, o *Options) error {
	return o.F.AsPerson(func(client *mcpclient.Client) error {
		args := mcp.RetryJobArgs{JobID: o.JobID, IdempotencyKey: o.Key}
		if o.Changes != "" {
			text, err := json.Marshal(o.Changes)
			if err != nil {
				return err
			}
			args.Changes = text
		}
		res, err := client.RetryJob(ctx, args)
		if err != nil {
			return err
		}
		return follow.Submitted(ctx, client, o.F.IO, res, o.Follow, follow.Options{Timestamps: o.Timestamps, JSON: o.JSON})
	})
}
