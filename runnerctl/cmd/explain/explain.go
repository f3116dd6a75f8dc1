// Package explain is `runnerctl explain`.
package explain

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/runnerctl/follow"
)

// Options is what the command line says.
type Options struct {
	F     *cmdutil.Factory
	JobID string
	JSON  bool
}

// New makes the command; run replaces its body in tests.
func New(f *cmdutil.Factory, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{F: f}
	c := &cobra.Command{
		Use:   "explain JOB",
		Short: "Say why a job is not running, or how it ended",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.JobID = args[0]
			if run != nil {
				return run(c.Context(), o)
			}
			return explain(c.Context(), o)
		},
	}
	cmdutil.AddJSON(c, &o.JSON, mcp.ExplainJobResult{})
	return c
}

func explain(ctx context.Context, o *Options) error {
	client, err := o.F.People()
	if err != nil {
		return err
	}
	defer client.Close() //nolint:errcheck // nothing is under way any more
	res, err := client.ExplainJob(ctx, mcp.JobRef{JobID: o.JobID})
	if err != nil {
		return err
	}
	if o.JSON {
		return cmdutil.PrintJSON(o.F.IO, res)
	}
	return show(o, res)
}

func show(o *Options, res mcp.ExplainJobResult) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is %s\n%s\n", res.JobID, res.State, res.Summary)
	if res.Position > 0 {
		fmt.Fprintf(&b, "place in its queue: %d\n", res.Position)
	}
	if f := res.Failure; f != nil {
		fmt.Fprintf(&b, "failure: %s: %s\n", f.Class, f.Message)
		if f.Hint != "" {
			fmt.Fprintf(&b, "  hint: %s\n", f.Hint)
		}
	}
	if len(res.Runners) > 0 {
		b.WriteString("\nrunners:\n")
		for _, r := range res.Runners {
			for _, why := range r.Reasons {
				fmt.Fprintf(&b, "  %-20s %s\n", r.Label, why.Message)
			}
		}
	}
	if len(res.Next) > 0 {
		b.WriteString("\nwhat helps:\n")
		for _, n := range res.Next {
			fmt.Fprintf(&b, "  - %s\n", n)
		}
	}
	b.WriteString("\ntimeline:\n")
	for _, t := range res.Timeline {
		fmt.Fprintf(&b, "  %s  %-22s %s\n", t.Time.UTC().Format("2006-01-02 15:04:05"), t.Action, t.Message)
	}
	if _, err := fmt.Fprint(o.F.IO.Out, cmdutil.Printable(b.String())); err != nil {
		return err
	}
	if len(res.LogTail) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(o.F.IO.Out, "\nend of the log:"); err != nil {
		return err
	}
	together := *o.F.IO // one text, in one place
	together.Err = o.F.IO.Out
	p := &follow.Printer{IO: &together}
	for _, l := range res.LogTail {
		if err := p.Print(l); err != nil {
			return err
		}
	}
	return nil
}
