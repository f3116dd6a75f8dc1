// Package logs is `runnerctl logs`.
package logs

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
	F          *cmdutil.Factory
	JobID      string
	Follow     bool
	Tail       int // 0 is all
	Grep       string
	Step       string
	Service    string
	Stream     string
	Attempt    int
	Timestamps bool
	JSON       bool
}

const pageLines = 1000

// New makes the command; run replaces its body in tests.
func New(f *cmdutil.Factory, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{F: f}
	c := &cobra.Command{
		Use:   "logs JOB",
		Short: "Print a job's log",
		Long: "Print a job's log: its standard output to standard output, everything else to standard error, a service's lines behind\n" +
			"its name. With -f it goes on until the job ends and exits with the job's exit code.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.JobID = args[0]
			if run != nil {
				return run(c.Context(), o)
			}
			return logs(c.Context(), o)
		},
	}
	c.Flags().BoolVarP(&o.Follow, "follow", "f", false, "go on until the job ends")
	c.Flags().IntVarP(&o.Tail, "tail", "n", 0, "only the last lines, at most 1000 (default: all)")
	c.Flags().StringVar(&o.Grep, "grep", "", "only lines that match this regular expression (RE2)")
	c.Flags().StringVar(&o.Step, "step", "", "only this step")
	c.Flags().StringVar(&o.Service, "service", "", "only this service")
	c.Flags().StringVar(&o.Stream, "stream", "", "only stdout, stderr or system")
	c.Flags().IntVar(&o.Attempt, "attempt", 0, "number of the attempt (default: the latest)")
	c.Flags().BoolVar(&o.Timestamps, "timestamps", false, "the time before each line, in UTC")
	for _, other := range []string{"grep", "step", "service", "stream", "attempt", "tail"} {
		c.MarkFlagsMutuallyExclusive("follow", other)
	}
	cmdutil.AddJSON(c, &o.JSON, mcp.LogLine{})
	c.MarkFlagsMutuallyExclusive("follow", "json")
	return c
}

func logs(ctx context.Context, o *Options) error {
	if o.Tail < 0 || o.Tail > pageLines {
		return cmdutil.Usagef("--tail takes 1 to %d lines; leave it out for the whole log", pageLines)
	}
	client, err := o.F.People()
	if err != nil {
		return err
	}
	defer client.Close() //nolint:errcheck // nothing is under way any more
	p := &follow.Printer{IO: o.F.IO, Timestamps: o.Timestamps}
	if o.Follow {
		end, err := follow.Job(ctx, client, o.JobID, "start", p)
		if err != nil {
			return err
		}
		return follow.Exit(o.F.IO, o.JobID, end)
	}
	args := mcp.ReadJobLogArgs{
		JobID: o.JobID, Attempt: o.Attempt, Grep: o.Grep, Step: o.Step, Service: o.Service, Stream: o.Stream,
		From: "start", Lines: pageLines,
	}
	if o.Tail > 0 {
		args.From, args.Lines = "end", o.Tail
	}
	all := []mcp.LogLine{}
	for {
		page, err := client.ReadJobLog(ctx, args)
		if err != nil {
			return err
		}
		for _, l := range page.Lines {
			if o.JSON {
				all = append(all, l)
			} else if err := p.Print(l); err != nil {
				return err
			}
		}
		if page.NextCursor == "" || o.Tail > 0 {
			if o.JSON {
				return cmdutil.PrintJSON(o.F.IO, all)
			}
			if page.Note != "" && o.F.IO.ErrTTY {
				fmt.Fprintf(o.F.IO.Err, "# %s\n", page.Note)
			}
			return nil
		}
		args.From = page.NextCursor
	}
}
