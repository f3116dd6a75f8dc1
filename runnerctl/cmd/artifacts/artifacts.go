// Package artifacts is `runnerctl artifacts`.
package artifacts

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
)

// Options is what the command line says.
type Options struct {
	F       *cmdutil.Factory
	JobID   string
	Attempt int
	JSON    bool
}

// New makes the command; run replaces its body in tests.
func New(f *cmdutil.Factory, run func(context.Context, *Options) error) *cobra.Command {
	if run == nil {
		run = list
	}
	o := &Options{F: f}
	c := &cobra.Command{
		Use:   "artifacts JOB",
		Short: "List the files that a job left",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.JobID = args[0]
			return run(c.Context(), o)
		},
	}
	c.Flags().IntVar(&o.Attempt, "attempt", 0, "number of the attempt (default: the latest)")
	cmdutil.AddJSON(c, &o.JSON, mcp.Artifact{})
	return c
}

func list(ctx context.Context, o *Options) error {
	var all []mcp.Artifact
	note := ""
	err := o.F.AsPerson(func(client *mcpclient.Client) (err error) {
		all, note, err = cmdutil.Artifacts(ctx, client, o.JobID, o.Attempt)
		return err
	})
	if err != nil {
		return err
	}
	if o.JSON {
		return cmdutil.PrintJSON(o.F.IO, all)
	}
	if note != "" {
		o.F.IO.Note("%s\n", cmdutil.Commands(note))
	}
	t := cmdutil.NewTable(o.F.IO, "path", "size", "name", "sha256")
	for _, a := range all {
		t.Row(a.Path, cmdutil.Bytes(a.Size), a.Name, a.SHA256)
	}
	return t.Print()
}
