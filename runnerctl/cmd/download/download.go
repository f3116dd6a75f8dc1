// Package download is `runnerctl download`.
package download

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
)

// Options is what the command line says.
type Options struct {
	F       *cmdutil.Factory
	JobID   string
	Name    string // of an artifact, or a path, or a folder; "" is all
	Dir     string
	Force   bool
	Attempt int
}

// New makes the command; run replaces its body in tests.
func New(f *cmdutil.Factory, run func(context.Context, *Options) error) *cobra.Command {
	if run == nil {
		run = download
	}
	o := &Options{F: f}
	c := &cobra.Command{
		Use:   "download JOB [NAME]",
		Short: "Download the files that a job left",
		Long: "Download the files that a job left to a folder, at the paths that they had below the job's working directory: all of them, those\n" +
			"of one artifact, one file or one folder. Each is checked against its SHA-256 before it appears. A file that is there already\n" +
			"is left alone when it is the same. One that is another is left, too, and the download fails, unless --force is given. What can be\n" +
			"downloaded is, whatever becomes of the other files.",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			o.JobID = args[0]
			if len(args) > 1 {
				o.Name = args[1]
			}
			return run(c.Context(), o)
		},
	}
	c.Flags().StringVarP(&o.Dir, "dir", "d", ".", "folder to download to; made if need be")
	c.Flags().BoolVar(&o.Force, "force", false, "write over files that are there")
	c.Flags().IntVar(&o.Attempt, "attempt", 0, "number of the attempt (default: the latest)")
	return c
}

func download(ctx context.Context, o *Options) error {
	return o.F.AsPerson(func(client *mcpclient.Client) error {
		all, note, err := cmdutil.Artifacts(ctx, client, o.JobID, o.Attempt)
		if err != nil {
			return err
		}
		wanted := choose(all, o.Name)
		if len(wanted) == 0 {
			return nothing(o, note)
		}
		if err := os.MkdirAll(o.Dir, 0o755); err != nil {
			return err
		}
		root, err := os.OpenRoot(o.Dir)
		if err != nil {
			return err
		}
		defer root.Close()
		got, err := fetchAll(ctx, o, client, root, wanted)
		if err != nil {
			return err
		}
		if n := len(wanted) - len(got.failed); n > 0 {
			o.F.IO.Note("%d files, %s, in %s\n", n, cmdutil.Bytes(got.bytes), o.Dir)
		}
		return got.err(len(wanted))
	})
}

// fetchAll downloads one file after the other. An error is what none of them could get around.
func fetchAll(ctx context.Context, o *Options, client *mcpclient.Client, root *os.Root, wanted []mcp.Artifact) (out outcome, err error) {
	for _, a := range wanted {
		err := (file{client, root, a, o.Force}).get(ctx)
		switch {
		case err == nil:
			out.bytes += a.Size
			if err := o.F.IO.Say("%s\n", a.Path); err != nil {
				return out, err
			}
		case !ownFault(ctx, err):
			return out, err
		default:
			out.failed = append(out.failed, err)
			if len(wanted) > 1 { // alone it is the command's own error
				o.F.IO.Note("not downloaded: %s\n", cmdutil.Message(err))
			}
		}
	}
	return out, nil
}

// nothing says that there is no such file; note is the hub's word on an attempt without any.
func nothing(o *Options, note string) error {
	e := &mcp.Error{
		Code: mcp.CodeNotFound, Message: fmt.Sprintf("the job has no artifact, file or folder %q", o.Name),
		Hint: "list what there is with `runnerctl artifacts " + o.JobID + "`",
	}
	switch {
	case note != "":
		e.Message, e.Hint = "there is nothing to download. "+cmdutil.Commands(note), ""
	case o.Name == "":
		e.Message = "there is nothing to download"
	}
	return e
}

// choose picks what a name means: an artifact by its name, else a file or a folder by its path.
func choose(all []mcp.Artifact, name string) (out []mcp.Artifact) {
	if name == "" {
		return all
	}
	for _, a := range all {
		if a.Name == name {
			out = append(out, a)
		}
	}
	if out != nil {
		return out
	}
	name = strings.TrimSuffix(name, "/")
	for _, a := range all {
		if a.Path == name || strings.HasPrefix(a.Path, name+"/") {
			out = append(out, a)
		}
	}
	return out
}
