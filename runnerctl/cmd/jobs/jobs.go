// Package jobs is `runnerctl jobs`.
package jobs

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
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

const pageSize = 100 // the most that the hub gives at once

// New makes the command; run replaces its body in tests.
func New(f *cmdutil.Factory, run func(context.Context, *Options) error) *cobra.Command {
	if run == nil {
		run = list
	}
	o := &Options{F: f}
	c := &cobra.Command{
		Use:   "jobs",
		Short: "List jobs, the newest first",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.Limit < 1 {
				return cmdutil.Usagef("--limit must be at least 1")
			}
			if o.Since < 0 {
				return cmdutil.Usagef("--since must not be negative: it says how far back to look")
			}
			return run(c.Context(), o)
		},
	}
	c.Flags().StringVar(&o.State, "state", "", "one state (queued, leased, running, succeeded, failed, canceled, timed_out, rejected), or active or ended")
	c.Flags().StringVar(&o.Runner, "runner", "", "id of the runner")
	c.Flags().StringVar(&o.Label, "label", "", "label of the runner")
	c.Flags().StringVar(&o.Workspace, "workspace", "", "slug of the workspace")
	c.Flags().DurationVar(&o.Since, "since", 0, "submitted within this time, such as 24h")
	c.Flags().IntVarP(&o.Limit, "limit", "n", 20, "how many at most")
	cmdutil.AddJSON(c, &o.JSON, mcp.Job{})
	cmdutil.Complete(c, "state", "queued", "leased", "running", "succeeded", "failed", "canceled", "timed_out", "rejected", "active", "ended")
	return c
}

func list(ctx context.Context, o *Options) error {
	args := mcp.ListJobsArgs{State: o.State, Runner: o.Runner, Label: o.Label, Workspace: o.Workspace}
	if o.Since > 0 {
		since := o.F.Now().Add(-o.Since)
		args.Since = &since
	}
	all := []mcp.Job{}
	err := o.F.AsPerson(func(client *mcpclient.Client) error {
		return cmdutil.Each(func(cursor string) (string, error) {
			args.Cursor, args.Limit = cursor, min(o.Limit-len(all), pageSize)
			page, err := client.ListJobs(ctx, args)
			if all = append(all, page.Jobs...); len(all) >= o.Limit {
				return "", err
			}
			return page.NextCursor, err
		})
	})
	if err != nil {
		return err
	}
	if o.JSON {
		return cmdutil.PrintJSON(o.F.IO, all)
	}
	return show(o, all)
}

func show(o *Options, all []mcp.Job) error {
	if len(all) == 0 {
		o.F.IO.Note("no jobs; submit one with `runnerctl submit FILE`\n")
	}
	t := cmdutil.NewTable(o.F.IO, "job", "state", "name", "runner", "submitted", "took")
	for _, j := range all {
		state := j.State
		if j.Canceling {
			state = "canceling"
		} else if strings.HasPrefix(j.Progress, "session") {
			state += " (session)"
		}
		took := ""
		if j.DurationMS > 0 {
			took = cmdutil.Millis(j.DurationMS)
		}
		t.Row(j.ID, state, j.Name, j.RunnerLabel, cmdutil.Ago(o.F.Now(), &j.CreatedAt), took)
	}
	return t.Print()
}
