// Package jobs is `runnerctl jobs`.
package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
)

// Options is what the command line says.
type Options struct {
	F         *cmdutil.Factory
	State     string
	Runner    string
	Label     string
	Workspace string
	Since     time.Duration
	Limit     int
	JSON      bool
}

const pageSize = 100

// New makes the command; run replaces its body in tests.
func New(f *cmdutil.Factory, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{F: f}
	c := &cobra.Command{
		Use:   "jobs",
		Short: "List jobs, the newest first",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if run != nil {
				return run(c.Context(), o)
			}
			return list(c.Context(), o)
		},
	}
	c.Flags().StringVar(&o.State, "state", "", "one state (queued, leased, running, succeeded, failed, canceled, timed_out, rejected), or active or ended")
	c.Flags().StringVar(&o.Runner, "runner", "", "id of the runner")
	c.Flags().StringVar(&o.Label, "label", "", "label of the runner")
	c.Flags().StringVar(&o.Workspace, "workspace", "", "slug of the workspace")
	c.Flags().DurationVar(&o.Since, "since", 0, "submitted within this time, such as 24h")
	c.Flags().IntVarP(&o.Limit, "limit", "n", 20, "how many at most")
	cmdutil.AddJSON(c, &o.JSON, mcp.Job{})
	return c
}

func list(ctx context.Context, o *Options) error {
	if o.Limit < 1 {
		return cmdutil.Usagef("--limit must be at least 1")
	}
	client, err := o.F.People()
	if err != nil {
		return err
	}
	defer client.Close() //nolint:errcheck // nothing is under way any more
	args := mcp.ListJobsArgs{State: o.State, Runner: o.Runner, Label: o.Label, Workspace: o.Workspace}
	if o.Since > 0 {
		since := o.F.Now().Add(-o.Since)
		args.Since = &since
	}
	all := []mcp.Job{}
	for {
		args.Limit = min(o.Limit-len(all), pageSize)
		page, err := client.ListJobs(ctx, args)
		if err != nil {
			return err
		}
		all = append(all, page.Jobs...)
		if page.NextCursor == "" || len(all) >= o.Limit {
			break
		}
		args.Cursor = page.NextCursor
	}
	if o.JSON {
		return cmdutil.PrintJSON(o.F.IO, all)
	}
	if len(all) == 0 {
		fmt.Fprintln(o.F.IO.Err, "no jobs; submit one with `runnerctl submit FILE`")
	}
	t := cmdutil.NewTable(o.F.IO, "job", "state", "name", "runner", "submitted", "took")
	now := o.F.Now()
	for _, j := range all {
		state := j.State
		if j.Canceling {
			state = "canceling"
		}
		took := ""
		if j.DurationMS > 0 {
			took = cmdutil.Millis(j.DurationMS)
		}
		t.Row(j.ID, state, j.Name, j.RunnerLabel, cmdutil.Ago(now, &j.CreatedAt), took)
	}
	return t.Print()
}
