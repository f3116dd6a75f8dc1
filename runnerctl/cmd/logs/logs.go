// Package logs is `runnerctl logs`.
package logs

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
	Follow     bool
	Tail       int // 0 is all
	Grep       string
	Errors     bool
	Context    int
	Step       string
	Service    string
	Stream     string
	Attempt    int
	Timestamps bool
	JSON       bool
}

const pageLines = 1000 // the most that the hub gives at once

// New makes the command; run replaces its body in tests.
func New(f *cmdutil.Factory, run func(context.Context, *Options) error) *cobra.Command {
	if run == nil {
		run = logs
	}
	o := &Options{F: f}
	c := &cobra.Command{
		Use:   "logs JOB",
		Short: "Print a job's log",
		Long: "Print a job's log: its standard output to standard output, everything else to standard error, a service's lines behind\n" +
			"its name. With -f it goes on until the job ends and exits with the job's exit code; interrupting that leaves the job\n" +
			"running. A pipe or a file gets the job's bytes as they are; on a terminal only colours work.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.JobID = args[0]
			if c.Flags().Changed("tail") && (o.Tail < 1 || o.Tail > pageLines) {
				return cmdutil.Usagef("--tail takes 1 to %d lines; leave it out for the whole log", pageLines)
			}
			return run(c.Context(), o)
		},
	}
	c.Flags().BoolVarP(&o.Follow, "follow", "f", false, "go on until the job ends")
	c.Flags().IntVarP(&o.Tail, "tail", "n", 0, "only the last lines, at most 1000 (default: all)")
	c.Flags().StringVar(&o.Grep, "grep", "", "only lines that match this regular expression (RE2)")
	c.Flags().BoolVar(&o.Errors, "errors", false, "only lines that say what failed, why and where")
	c.Flags().IntVarP(&o.Context, "context", "C", 0, "lines around each that --grep or --errors find, 0 to 20")
	c.Flags().StringVar(&o.Step, "step", "", "only this step")
	c.Flags().StringVar(&o.Service, "service", "", "only this service")
	c.Flags().StringVar(&o.Stream, "stream", "", "only stdout, stderr or system")
	c.Flags().IntVar(&o.Attempt, "attempt", 0, "number of the attempt (default: the latest)")
	c.Flags().BoolVar(&o.Timestamps, "timestamps", false, "the time before each line, in UTC")
	for _, other := range []string{"grep", "errors", "context", "step", "service", "stream", "attempt", "tail"} {
		c.MarkFlagsMutuallyExclusive("follow", other)
	}
	cmdutil.AddJSON(c, &o.JSON, mcp.LogLine{})
	c.MarkFlagsMutuallyExclusive("follow", "json")
	cmdutil.Complete(c, "stream", "stdout", "stderr", "system")
	return c
}

func logs(ctx context.Context, o *Options) error {
	return o.F.AsPerson(func(client *mcpclient.Client) error {
		if o.Follow {
			return follow.Run(ctx, client, o.F.IO, follow.Options{JobID: o.JobID, Timestamps: o.Timestamps})
		}
		p := &follow.Printer{IO: o.F.IO, Timestamps: o.Timestamps}
		if !o.JSON {
			return read(ctx, client, o, p.Print)
		}
		all := []mcp.LogLine{}
		err := read(ctx, client, o, func(l mcp.LogLine) error { all = append(all, l); return nil })
		if err != nil {
			return err
		}
		return cmdutil.PrintJSON(o.F.IO, all)
	})
}

// read gives each line that the options ask for to show.
func read(ctx context.Context, client *mcpclient.Client, o *Options, show func(mcp.LogLine) error) error {
	args := mcp.ReadJobLogArgs{
		JobID: o.JobID, Attempt: o.Attempt, Grep: o.Grep, Step: o.Step, Service: o.Service, Stream: o.Stream,
		Errors: o.Errors, Context: o.Context, Raw: true, From: "start", Lines: pageLines,
	}
	if o.Tail > 0 {
		args.From, args.Lines = "end", o.Tail
	}
	for {
		page, err := client.ReadJobLog(ctx, args)
		if err != nil {
			return err
		}
		for _, l := range page.Lines {
			if err := show(l); err != nil {
				return err
			}
		}
		// A job that still runs always has a next cursor: what is there so far was shown when it does not move any more.
		caughtUp := page.NextCursor == "" || (page.NextCursor == args.From && len(page.Lines) == 0)
		if caughtUp || o.Tail > 0 {
			if page.Note != "" && o.F.IO.ErrTTY {
				o.F.IO.Note("# %s\n", cmdutil.Commands(page.Note))
			}
			return nil
		}
		args.From = page.NextCursor
	}
}
