// Package cp is `runnerctl cp`.
package cp

import (
	"context"
	"errors"
	"io"
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
	Service string
	Inside  string // the path in the job
	Local   string // the path here
	Put     bool   // from here into the job
}

// New makes the command; run replaces its body in tests.
func New(f *cmdutil.Factory, run func(context.Context, *Options) error) *cobra.Command {
	if run == nil {
		run = start
	}
	o := &Options{F: f}
	c := &cobra.Command{
		Use:   "cp JOB:PATH DEST | SRC JOB:PATH",
		Short: "Copy files out of a job's container, or into it",
		Long: "Copy a file or folder out of the container of a job or of a service, or into it, while `runnerctl exec` works there too.\n" +
			"A destination that is a folder is copied into, another one is the copy's name. PATH is absolute, or relative to the job's\n" +
			"working directory. What comes out of a job is not trusted: nothing is written outside the destination, and devices, and links\n" +
			"that lead out of it, are left out and named.",
		Example: "  runnerctl cp JOB:/var/log/app.log .\n  runnerctl cp --service db JOB:/var/lib/postgresql/data/log ./log\n  runnerctl cp fixed.conf JOB:/etc/app.conf",
		Args:    cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.parse(args[0], args[1]); err != nil {
				return err
			}
			return run(c.Context(), o)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault
		},
	}
	c.Flags().StringVar(&o.Service, "service", "", "the service whose container is meant (default: the job's own)")
	return c
}

// parse tells the two ends apart: the job's is an id and a path.
func (o *Options) parse(from, to string) error {
	fromJob, fromPath, out := inJob(from)
	toJob, toPath, in := inJob(to)
	switch {
	case out && in:
		return cmdutil.Usagef("one end is in a job and the other one here: copy out first, and then in")
	case out:
		o.JobID, o.Inside, o.Local = fromJob, fromPath, to
	case in:
		o.JobID, o.Inside, o.Local, o.Put = toJob, toPath, from, true
	default:
		return cmdutil.Usagef("neither %q nor %q is in a job: write job_…:PATH", from, to)
	}
	if o.Inside == "" || o.Local == "" {
		return cmdutil.Usagef("a path is missing")
	}
	return nil
}

func inJob(s string) (job, path string, ok bool) {
	job, path, ok = strings.Cut(s, ":")
	return job, path, ok && strings.HasPrefix(job, "job_")
}

func start(ctx context.Context, o *Options) error {
	return o.F.AsPerson(func(client *mcpclient.Client) error {
		if o.Put {
			return put(ctx, client, o)
		}
		return get(ctx, client, o)
	})
}

// get copies out of a job.
func get(ctx context.Context, c *mcpclient.Client, o *Options) error {
	res, err := c.StartCopy(ctx, mcp.CopyArgs{JobID: o.JobID, Service: o.Service, Path: o.Inside})
	if err != nil {
		return err
	}
	ref := mcp.ExecRef{JobID: o.JobID, ExecID: res.ExecID}
	r := &download{ctx: ctx, c: c, ref: ref}
	left, err := unpack(r, o.Local)
	if err == nil {
		_, err = io.Copy(io.Discard, r) // what follows the archive's end
	}
	if failed := outcome(ctx, c, ref, r.offset); failed != nil { // says more than an archive that breaks off
		return failed
	}
	for _, what := range left {
		o.F.IO.Note("left out: %s\n", what)
	}
	return err
}

// put copies into a job. The archive is made twice: once to know its size, which is announced.
func put(ctx context.Context, c *mcpclient.Client, o *Options) error {
	var size counter
	if err := pack(&size, o.Local); err != nil {
		return err
	}
	res, err := c.StartCopy(ctx, mcp.CopyArgs{JobID: o.JobID, Service: o.Service, Path: o.Inside, Put: true, Bytes: int64(size)})
	if err != nil {
		return err
	}
	ref := mcp.ExecRef{JobID: o.JobID, ExecID: res.ExecID}
	w := &upload{ctx: ctx, c: c, ref: ref}
	if err := pack(w, o.Local); err != nil {
		return errors.Join(err, abandon(ctx, c, ref))
	}
	if err := w.flush(); err != nil {
		return errors.Join(err, abandon(ctx, c, ref))
	}
	if w.offset != int64(size) {
		return errors.Join(&mcp.Error{Code: mcp.CodeConflict, Message: o.Local + " changed while it was copied", Hint: "copy it again"}, abandon(ctx, c, ref))
	}
	return outcome(ctx, c, ref, 0)
}

func abandon(ctx context.Context, c *mcpclient.Client, ref mcp.ExecRef) error {
	_, err := c.StopExec(context.WithoutCancel(ctx), ref)
	return err
}

// outcome waits for the end of a copy whose bytes are moved.
func outcome(ctx context.Context, c *mcpclient.Client, ref mcp.ExecRef, read int64) error {
	for {
		res, err := c.WaitExec(ctx, mcp.WaitExecArgs{JobID: ref.JobID, ExecID: ref.ExecID, StdoutFrom: read, WaitMS: mcp.MaxWait, MaxBytes: 1})
		switch {
		case err != nil:
			return err
		case res.State != "ended":
			if res.Stdout.NextOffset > read { // nobody reads on: the archive was no good
				return abandon(ctx, c, ref)
			}
		case res.Status == "exited":
			return nil
		default:
			return &mcp.Error{Code: mcp.CodeConflict, Message: "the copy " + strings.ReplaceAll(res.Status, "_", " ") + ": " + res.Message}
		}
	}
}

// download reads an archive as it comes.
type download struct {
	ctx    context.Context
	c      *mcpclient.Client
	ref    mcp.ExecRef
	offset int64
	rest   []byte
}

// Read implements io.Reader.
func (d *download) Read(p []byte) (int, error) {
	for len(d.rest) == 0 {
		data, open, err := d.c.GetCopy(d.ctx, d.ref, d.offset, mcp.MaxWait)
		if err != nil {
			return 0, err
		}
		if len(data) == 0 && !open {
			return 0, io.EOF
		}
		d.rest = data
		d.offset += int64(len(data))
	}
	n := copy(p, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}

// upload sends an archive chunk by chunk.
type upload struct {
	ctx    context.Context
	c      *mcpclient.Client
	ref    mcp.ExecRef
	offset int64
	buf    []byte
}

// Write implements io.Writer.
func (u *upload) Write(p []byte) (int, error) {
	u.buf = append(u.buf, p...)
	for len(u.buf) >= mcp.MaxCopyChunk {
		if err := u.send(mcp.MaxCopyChunk); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

func (u *upload) flush() error {
	if len(u.buf) == 0 {
		return nil
	}
	return u.send(len(u.buf))
}

func (u *upload) send(n int) error {
	if _, err := u.c.PutCopy(u.ctx, u.ref, u.offset, u.buf[:n]); err != nil {
		return err
	}
	u.offset += int64(n)
	u.buf = u.buf[n:]
	return nil
}

// counter counts what is written to it.
type counter int64

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

func isFolder(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}
