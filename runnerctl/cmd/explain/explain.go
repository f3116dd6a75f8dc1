// Package explain is `runnerctl explain`.
package explain

import (
	"context"
	"fmt"
	"maps"
	"slices"
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
		job, err := client.GetJob(ctx, mcp.JobRef{JobID: o.JobID})
		if err != nil {
			return err
		}
		if r := job.Job.Result; r != nil {
			if err := o.F.IO.Say("%s", left(o.JobID, *r)); err != nil {
				return err
			}
		}
		if err := showLog(o, "what its log says of the failure", res.Telling); err != nil {
			return err
		}
		return showLog(o, "end of the log", res.LogTail)
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
		label := r.Label
		for _, why := range r.Reasons {
			fmt.Fprintf(&b, "  %-20s %-18s %s\n", label, why.Code, why.Message)
			label = "" // named once
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

// left is what a job left besides its log: the counts of its tests, its outputs and its artifacts.
func left(jobID string, r mcp.Result) string {
	var b strings.Builder
	if t := r.Tests; t != nil {
		fmt.Fprintf(&b, "\ntests: %d passed, %d failed, %d skipped\n", t.Passed, t.Failed, t.Skipped)
		said := map[string]mcp.TestFailure{}
		for _, f := range t.Failures {
			said[f.Name] = f
		}
		for _, name := range t.Failing {
			fmt.Fprintf(&b, "  failed: %s\n", name)
			if message := said[name].Message; message != "" {
				fmt.Fprintf(&b, "    %s\n", strings.ReplaceAll(message, "\n", "\n    "))
			}
		}
		if more := t.Failed - len(t.Failing); more > 0 {
			fmt.Fprintf(&b, "  and %d more\n", more)
		}
		if t.Unread > 0 {
			fmt.Fprintf(&b, "  %d reports could not be read\n", t.Unread)
		}
	}
	if c := r.Changes; c != nil {
		fmt.Fprintf(&b, "\nchanges: %d new, %d modified, %d deleted (`runnerctl download %s patch`)\n", c.Added, c.Modified, c.Deleted, jobID)
		if c.LeftOut > 0 {
			fmt.Fprintf(&b, "  %d more changed and are not in the patch; its head names them\n", c.LeftOut)
		}
	}
	if len(r.WarmServices) > 0 {
		fmt.Fprintf(&b, "\nservices that an earlier job had left: %s\n", strings.Join(r.WarmServices, ", "))
	}
	if len(r.Caches) > 0 {
		b.WriteString("\ncache:\n")
	}
	for _, c := range r.Caches {
		fmt.Fprintf(&b, "  %s\n", cacheLine(c))
	}
	if len(r.Outputs) > 0 {
		b.WriteString("\noutputs:\n")
	}
	for _, name := range slices.Sorted(maps.Keys(r.Outputs)) {
		fmt.Fprintf(&b, "  %s=%s\n", name, strings.ReplaceAll(r.Outputs[name], "\n", "\n    "))
	}
	if n := len(r.Artifacts) + r.ArtifactsMore; n > 0 {
		fmt.Fprintf(&b, "\nartifacts (`runnerctl download %s`):\n", jobID)
		for _, a := range r.Artifacts[:min(len(r.Artifacts), 20)] {
			fmt.Fprintf(&b, "  %s (%s)\n", a.Path, cmdutil.Bytes(a.Size))
		}
		if n > 20 {
			fmt.Fprintf(&b, "  and %d more\n", n-20)
		}
	}
	return b.String()
}

// cacheLine is what became of a cache of the job's.
func cacheLine(c mcp.CacheResult) string {
	line := c.Key + ": "
	switch c.Hit {
	case "exact":
		line += "restored " + cmdutil.Bytes(c.RestoredBytes)
	case "prefix":
		line += "restored " + cmdutil.Bytes(c.RestoredBytes) + " of " + c.RestoredKey
	default:
		line += "nothing restored"
	}
	if c.SavedBytes > 0 {
		line += ", saved " + cmdutil.Bytes(c.SavedBytes)
	}
	return line
}

// showLog prints lines of the log behind the rest: one text, in one place.
func showLog(o *Options, title string, lines []mcp.LogLine) error {
	if len(lines) == 0 {
		return nil
	}
	if err := o.F.IO.Say("\n%s:\n", title); err != nil {
		return err
	}
	p := &follow.Printer{IO: o.F.IO.AllTo(o.F.IO.Out, o.F.IO.OutTTY)}
	for _, l := range lines {
		if err := p.Print(l); err != nil {
			return err
		}
	}
	return nil
}
