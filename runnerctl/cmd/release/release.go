// Package release is `runnerctl release`.
package release

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
)

// Options is what the command line says.
type Options struct {
	F     *cmdutil.Factory
	JobID string
	JSON  bool
}

// New makes the command; run replaces its body in tests.
func New(f *cmdutil.Factory, run func(context.Context, *Options) error) *cobra.Command {
	if run == nil {
		run = release
	}
	o := &Options{F: f}
	c := &cobra.Command{
		Use:   "release JOB",
		Short: "Let go of a failed job that is held, or end a session",
		Long: "Let go of a failed job that is held (hold_on_failure in its spec): its containers are removed, its slot is free, and the job\n" +
			"ends as it had failed. A session (kind: session) is ended: its artifacts are kept, and it has succeeded.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.JobID = args[0]
			return run(c.Context(), o)
		},
	}
	cmdutil.AddJSON(c, &o.JSON, mcp.Job{})
	return c
}

func release(ctx context.Context, o *Options) error {
	return o.F.AsPerson(func(client *mcpclient.Client) error {
		res, err := client.EndHold(ctx, mcp.JobRef{JobID: o.JobID})
		if err != nil {
			return err
		}
		if o.JSON {
			return cmdutil.PrintJSON(o.F.IO, res.Job)
		}
		return o.F.IO.Say("%s is being let go of by its runner\n", res.Job.ID)
	})
}
