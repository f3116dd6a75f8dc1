// Package explain is `runnerctl explain`.
package explain

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
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
	if run == nil {
		run = explain
	}
	o := &Options{F: f}
	c := &cobra.Command{
		Use:   "explain JOB",
		Short: "Say why a job is not running, or how it ended",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.JobID = args[0]
			return run(c.Context(), o)
		},
	}
	cmdutil.AddJSON(c, &o.JSON, mcp.ExplainJobResult{})
	return c
}

func explain(ctx context.Context, o *Options) error {
	return o.F.AsPerson(func(client *mcpclient.Client) error {
		res, err := client.ExplainJob(ctx, mcp.JobRef{JobID: o.JobID})
		if err != nil {
			return err
		}
		if o.JSON {
			return cmdutil.PrintJSON(o.F.IO, res)
		}
		if err := o.F.IO.Say("%s", text(res)); err != nil {
			return err
		}
		return showLog(o, res.LogTail)
	})
}

func text(res mcp.ExplainJobResult) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is %s\n%s\n", res.JobID, res.State, res.Summary)
	if res.Position > 0 {
		fmt.Fprintf(&b, "place in its queue: %d\n", res.Position)
	}
	for _, why := range res.Reasons {
		fmt.Fprintf(&b, "%s: %s\n", why.Code, why.Message)
	}
	if f := res.Failure; f != nil && f.Container != "" {
		fmt.Fprintf(&b, "container: %s\n", f.Container)
	}
	if len(res.Runners) > 0 {
		b.WriteString("\nrunners:\n")
	}
	for _, r := range res.Runners {
		for _, why := range r.Reasons {
			fmt.Fprintf(&b, "  %-20s %-18s %s\n", r.Label, why.Code, why.Message)
		}
	}
	if len(res.Next) > 0 {
		b.WriteString("\nwhat helps:\n")
	}
	for _, n := range res.Next {
		fmt.Fprintf(&b, "  - %s\n", cmdutil.Commands(n))
	}
	b.WriteString("\ntimeline:\n")
	for _, t := range res.Timeline {
		fmt.Fprintf(&b, "  %s  %-22s %s\n", t.Time.UTC().Format("2006-01-02 15:04:05"), t.Action, t.Message)
	}
	return b.String()
}

// showLog prints the end of the log behind the rest: one text, in one place.
func showLog(o *Options, tail []mcp.LogLine) error {
	if len(tail) == 0 {
		return nil
	}
	if err := o.F.IO.Say("\nend of the log:\n"); err != nil {
		return err
	}
	p := &follow.Printer{IO: o.F.IO.AllTo(o.F.IO.Out, o.F.IO.OutTTY)}
	for _, l := range tail {
		if err := p.Print(l); err != nil {
			return err
		}
	}
	return nil
}
