// Package submit is `runnerctl submit`.
package submit

import (
	"context"
	"encoding/json"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/runnerctl/follow"
)

// maxSpec is the most that is read of a spec, in bytes: the hub's limit and some, so that the hub's words on it are heard.
const maxSpec = 2 << 20

// Options is what the command line says.
type Options struct {
	F          *cmdutil.Factory
	File       string // "-" is standard input
	Source     string // a folder; "" is none
	Patch      string // a file, "-" is standard input; "" is none
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
	if run == nil {
		run = submit
	}
	o := &Options{F: f}
	c := &cobra.Command{
		Use:   "submit FILE",
		Short: "Submit a job; FILE - reads the spec from standard input",
		Long: "Submit a job and print its id. With --follow its log is shown while it runs and the exit code is the job's own\n" +
			"(see `runnerctl help exit-codes`); interrupting that leaves the job running. With --check the JSON is what\n" +
			"check_job answers: valid, problems, runners, summary.\n\n" +
			"With --source the job starts in a copy of a folder: what .gitignore and .runnerhubignore files ignore stays out, and so do .git\n" +
			"and symbolic links that lead out of the folder. An unchanged folder is not uploaded again. With --patch a unified diff is applied\n" +
			"to the job's source, the folder or what the spec names, before the job starts.",
		Example: "  runnerctl submit job.yaml --follow\n  runnerctl submit job.yaml --source . --follow\n  runnerctl submit - --target workspace < job.yaml\n" +
			"  git diff --binary COMMIT | runnerctl submit job.yaml --patch - --follow",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.File = args[0]
			if o.File == "-" && o.Patch == "-" {
				return cmdutil.Usagef("the spec and the patch cannot both be standard input")
			}
			return run(c.Context(), o)
		},
	}
	c.Flags().StringVar(&o.Source, "source", "", "folder whose files the job starts with")
	c.Flags().StringVar(&o.Patch, "patch", "", "file with a unified diff of the source; - reads it from standard input")
	c.Flags().StringVar(&o.Target, "target", "", "self (any of your runners, the default), workspace, or a runner's id or label")
	c.Flags().StringVar(&o.Workspace, "workspace", "", "slug of the workspace that the job belongs to (default: your first)")
	c.Flags().IntVar(&o.Priority, "priority", 0, "-100 to 100; higher runs first")
	c.Flags().StringVar(&o.Key, "idempotency-key", "", "the same key again returns the same job")
	c.Flags().BoolVar(&o.Check, "check", false, "only say what is wrong with the spec and who could run it; nothing is stored")
	c.Flags().BoolVarP(&o.Follow, "follow", "f", false, "show the log until the job ends, and exit with its exit code")
	c.Flags().BoolVar(&o.Timestamps, "timestamps", false, "with --follow: the time before each line, in UTC")
	c.MarkFlagsMutuallyExclusive("check", "follow")
	c.MarkFlagsMutuallyExclusive("check", "idempotency-key")
	cmdutil.AddJSON(c, &o.JSON, mcp.Job{})
	return c
}

func submit(ctx context.Context, o *Options) error {
	spec, err := read(ctx, o)
	if err != nil {
		return err
	}
	return o.F.AsPerson(func(client *mcpclient.Client) error {
		if o.Source != "" || o.Patch != "" {
			if spec, err = withSource(ctx, o, client, spec); err != nil {
				return err
			}
		}
		req := mcp.JobRequest{Spec: spec, JobPlacement: mcp.JobPlacement{Target: o.Target, Workspace: o.Workspace, Priority: o.Priority}}
		if o.Check {
			res, err := client.CheckJob(ctx, mcp.CheckJobArgs{JobRequest: req, SourceFollows: o.Source != ""})
			if err != nil {
				return withPlaces(o, err)
			}
			return showCheck(o, res)
		}
		res, err := client.SubmitJob(ctx, mcp.SubmitJobArgs{JobRequest: req, IdempotencyKey: o.Key})
		if ctx.Err() != nil {
			o.F.IO.Note("the hub may have stored the job already: see `runnerctl jobs`\n")
		}
		if err != nil {
			return withPlaces(o, err)
		}
		return follow.Submitted(ctx, client, o.F.IO, res, o.Follow, follow.Options{Timestamps: o.Timestamps, JSON: o.JSON})
	})
}

// read returns the spec's text as a JSON string, as the hub takes it.
func read(ctx context.Context, o *Options) (json.RawMessage, error) {
	data, err := readText(ctx, o, o.File)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, cmdutil.Usagef("cannot read the spec: %w", err)
	case len(data) > maxSpec:
		return nil, &mcp.Error{Code: mcp.CodeTooLarge, Message: "the spec is larger than 1 MiB", Hint: "keep data out of the spec"}
	}
	return json.Marshal(string(data))
}

// readText reads a file, or standard input, up to a byte more than a spec may have.
func readText(ctx context.Context, o *Options, name string) ([]byte, error) {
	if name == "-" {
		return o.F.IO.ReadAll(ctx, maxSpec+1)
	}
	return readFile(name)
}

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxSpec+1))
}
