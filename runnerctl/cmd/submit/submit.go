// Package submit is `runnerctl submit`.
package submit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/runnerctl/follow"
)

// maxSpec is the most that is read of a spec, in bytes: the hub's limit and some, so that the hub's words on it are heard.
const maxSpec = 2 << 20

// Options is what the command line says.
type Options struct {
	F          *cmdutil.Factory
	File       string // "-" is standard input
	Target     string
	Workspace  string
	Priority   int
	Key        string
	Check      bool
	Follow     bool
	Timestamps bool
	JSON       bool
}

// New makes the command; run replaces its body in tests.
func New(f *cmdutil.Factory, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{F: f}
	c := &cobra.Command{
		Use:   "submit FILE",
		Short: "Submit a job; FILE - reads the spec from standard input",
		Long: "Submit a job and print its id. With --follow its log is shown while it runs and the exit code is the job's own\n" +
			"(see `runnerctl help exit-codes`); interrupting that leaves the job running.",
		Example: "  runnerctl submit job.yaml --follow\n  runnerctl submit - --target workspace < job.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.File = args[0]
			if run != nil {
				return run(c.Context(), o)
			}
			return submit(c.Context(), o)
		},
	}
	c.Flags().StringVar(&o.Target, "target", "", "self (any of your runners, the default), workspace, or a runner's id or label")
	c.Flags().StringVar(&o.Workspace, "workspace", "", "slug of the workspace that the job belongs to (default: your first)")
	c.Flags().IntVar(&o.Priority, "priority", 0, "-100 to 100; higher runs first")
	c.Flags().StringVar(&o.Key, "idempotency-key", "", "the same key again returns the same job")
	c.Flags().BoolVar(&o.Check, "check", false, "only say what is wrong with the spec and who could run it; nothing is stored")
	c.Flags().BoolVarP(&o.Follow, "follow", "f", false, "show the log until the job ends, and exit with its exit code")
	c.Flags().BoolVar(&o.Timestamps, "timestamps", false, "with --follow: the time before each line, in UTC")
	c.MarkFlagsMutuallyExclusive("check", "follow")
	cmdutil.AddJSON(c, &o.JSON, mcp.Job{})
	return c
}

func submit(ctx context.Context, o *Options) error {
	spec, err := read(o)
	if err != nil {
		return err
	}
	client, err := o.F.People()
	if err != nil {
		return err
	}
	defer client.Close() //nolint:errcheck // nothing is under way any more
	req := mcp.JobRequest{Spec: spec, Target: o.Target, Workspace: o.Workspace, Priority: o.Priority}
	if o.Check {
		res, err := client.CheckJob(ctx, mcp.CheckJobArgs{JobRequest: req})
		if err != nil {
			return err
		}
		return showCheck(o, res)
	}
	res, err := client.SubmitJob(ctx, mcp.SubmitJobArgs{JobRequest: req, IdempotencyKey: o.Key})
	if err != nil {
		return withPlaces(o, err)
	}
	if !o.Follow {
		return show(o, res)
	}
	fmt.Fprintf(o.F.IO.Err, "# job %s\n", res.Job.ID)
	out := &follow.Printer{IO: o.F.IO, Timestamps: o.Timestamps}
	if o.JSON { // standard output is for the job as JSON then
		quiet := *o.F.IO
		quiet.Out = o.F.IO.Err
		out.IO = &quiet
	}
	end, err := follow.Job(ctx, client, res.Job.ID, "start", out)
	if err != nil {
		return err
	}
	if o.JSON {
		got, err := client.GetJob(ctx, mcp.JobRef{JobID: res.Job.ID})
		if err != nil {
			return err
		}
		if err := cmdutil.PrintJSON(o.F.IO, got.Job); err != nil {
			return err
		}
	}
	return follow.Exit(o.F.IO, res.Job.ID, end)
}

// read returns the spec's text as a JSON string, as the hub takes it.
func read(o *Options) (json.RawMessage, error) {
	in := o.F.IO.In
	if o.File != "-" {
		f, err := os.Open(o.File)
		if err != nil {
			return nil, cmdutil.Usagef("cannot read the spec: %w", err)
		}
		defer f.Close() //nolint:errcheck // it was only read
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxSpec+1))
	if err != nil {
		return nil, cmdutil.Usagef("cannot read the spec: %w", err)
	}
	if len(data) > maxSpec {
		return nil, &mcp.Error{Code: mcp.CodeTooLarge, Message: "the spec is larger than 1 MiB", Hint: "keep data out of the spec"}
	}
	return json.Marshal(string(data))
}

func show(o *Options, res mcp.SubmitJobResult) error {
	if o.JSON {
		return cmdutil.PrintJSON(o.F.IO, res.Job)
	}
	if res.Existing {
		fmt.Fprintln(o.F.IO.Err, "the idempotency key had submitted this job before")
	}
	if _, err := fmt.Fprintln(o.F.IO.Out, res.Job.ID); err != nil {
		return err
	}
	if o.F.IO.ErrTTY {
		fmt.Fprintf(o.F.IO.Err, "follow it with: runnerctl logs %s -f\n", res.Job.ID)
	}
	return nil
}

func showCheck(o *Options, res mcp.CheckJobResult) error {
	if o.JSON {
		if err := cmdutil.PrintJSON(o.F.IO, res); err != nil {
			return err
		}
	} else {
		for _, p := range res.Problems {
			fmt.Fprintln(o.F.IO.Err, place(o.File, p))
		}
		for _, r := range res.Runners {
			for _, why := range r.Reasons {
				fmt.Fprintf(o.F.IO.Out, "%s\t%s\t%s\n", r.Label, why.Code, cmdutil.Printable(why.Message))
			}
		}
		fmt.Fprintln(o.F.IO.Out, res.Summary)
	}
	if !res.Valid {
		return &cmdutil.ExitError{Code: mcp.ExitUsage}
	}
	return nil
}

// withPlaces shows the spec's problems as compilers do, FILE:LINE:COLUMN, before the error itself.
func withPlaces(o *Options, err error) error {
	e, ok := errors.AsType[*mcp.Error](err)
	if !ok || e.Details["problems"] == nil {
		return err
	}
	raw, jsonErr := json.Marshal(e.Details["problems"])
	var problems []mcp.SpecProblem
	if jsonErr == nil {
		jsonErr = json.Unmarshal(raw, &problems)
	}
	if jsonErr == nil {
		for _, p := range problems {
			fmt.Fprintln(o.F.IO.Err, place(o.File, p))
		}
	}
	return err
}

func place(file string, p mcp.SpecProblem) string {
	where := file
	if p.Line > 0 {
		where = fmt.Sprintf("%s:%d:%d", file, p.Line, p.Column)
	}
	msg := p.Message
	if p.Field != "" {
		msg = p.Field + ": " + msg
	}
	if p.Hint != "" {
		msg += " (" + p.Hint + ")"
	}
	return where + ": " + cmdutil.Printable(msg)
}
