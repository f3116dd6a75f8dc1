// Package exec is `runnerctl exec`.
package exec

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/runnerctl/iostreams"
)

// Options is what the command line says.
type Options struct {
	F          *cmdutil.Factory
	JobID      string
	Service    string
	Command    []string
	Env        []string
	User       string
	WorkingDir string
	Stdin      bool
	Timeout    time.Duration
}

// New makes the command; run replaces its body in tests.
func New(f *cmdutil.Factory, run func(context.Context, *Options) error) *cobra.Command {
	if run == nil {
		run = start
	}
	o := &Options{F: f}
	c := &cobra.Command{
		Use:   "exec JOB [SERVICE] -- COMMAND…",
		Short: "Run a command in a container of a job",
		Long: "Run a command in the container of a job, or of one of its services. It works while the job is held, which is after it failed\n" +
			"where its spec says hold_on_failure, and while it runs where it is a session (kind: session) or its spec says exec: true.\n\n" +
			"Standard output and standard error are the command's, and so is the exit code. The request goes by the hub to the runner,\n" +
			"which opens no port for it; who ran what is in the job's timeline. The command is run once or not at all: when an answer of\n" +
			"the hub is lost, `runnerctl explain JOB` tells whether it was. An interrupt kills it.",
		Example: "  runnerctl exec JOB -- cat /workspace/out.log\n  runnerctl exec JOB db -- psql -U postgres -c 'select 1'\n  runnerctl exec -i JOB -- sh < script.sh",
		RunE: func(c *cobra.Command, args []string) error {
			dash := c.ArgsLenAtDash()
			if dash < 1 || dash > 2 || dash == len(args) {
				return cmdutil.Usagef("say which job and, after --, which command: runnerctl exec JOB [SERVICE] -- COMMAND")
			}
			for _, kv := range o.Env {
				if k, _, ok := strings.Cut(kv, "="); !ok || k == "" {
					return cmdutil.Usagef("--env takes NAME=value, not %q", kv)
				}
			}
			if o.Timeout <= 0 || o.Timeout > time.Hour {
				return cmdutil.Usagef("--timeout takes up to 1h")
			}
			o.JobID, o.Command = args[0], args[dash:]
			if dash == 2 {
				o.Service = args[1]
			}
			return run(c.Context(), o)
		},
	}
	c.Flags().StringArrayVarP(&o.Env, "env", "e", nil, "NAME=value for the command; repeatable")
	c.Flags().StringVarP(&o.User, "user", "u", "", "who runs it: name or id, with :group if needed (default: the container's user)")
	c.Flags().StringVarP(&o.WorkingDir, "workdir", "w", "", "where it starts (default: the container's directory)")
	c.Flags().BoolVarP(&o.Stdin, "stdin", "i", false, "send standard input to it, to its end and at most 1 MiB")
	c.Flags().DurationVar(&o.Timeout, "timeout", time.Minute, "when it is killed, at most 1h")
	return c
}

func start(ctx context.Context, o *Options) error {
	args := mcp.ExecInJobArgs{
		JobID: o.JobID, Service: o.Service, Command: o.Command, User: o.User, WorkingDir: o.WorkingDir,
		TimeoutMS: o.Timeout.Milliseconds(), MaxBytes: page,
	}
	for _, kv := range o.Env {
		if args.Env == nil {
			args.Env = map[string]string{}
		}
		k, v, _ := strings.Cut(kv, "=")
		args.Env[k] = v
	}
	if o.Stdin {
		data, err := o.F.IO.ReadAll(ctx, mcp.MaxExecStdin+1)
		if err != nil {
			return err
		}
		if len(data) > mcp.MaxExecStdin {
			return cmdutil.Usagef("standard input has more than %d bytes: copy it into the job with `runnerctl cp`", mcp.MaxExecStdin)
		}
		args.StdinBase64 = base64.StdEncoding.EncodeToString(data)
	}
	return o.F.AsPerson(func(client *mcpclient.Client) error { return follow(ctx, client, o.F.IO, args) })
}

// page is about how much of an output comes with one answer.
const page = 256 << 10

// client is the part of a hub that a command needs.
type client interface {
	ExecInJob(ctx context.Context, args mcp.ExecInJobArgs) (mcp.ExecResult, error)
	WaitExec(ctx context.Context, args mcp.WaitExecArgs) (mcp.ExecResult, error)
	StopExec(ctx context.Context, args mcp.ExecRef) (mcp.ExecResult, error)
}

// follow has the command run and prints its output until its end.
func follow(ctx context.Context, c client, out *iostreams.IOStreams, args mcp.ExecInJobArgs) error {
	res, err := c.ExecInJob(ctx, args) // answers at once: an interrupt needs to know what to stop
	id := res.ExecID
	for err == nil {
		if err = show(out, res); err != nil || res.Done {
			break
		}
		res, err = c.WaitExec(ctx, mcp.WaitExecArgs{
			JobID: args.JobID, ExecID: id, StdoutFrom: res.Stdout.NextOffset, StderrFrom: res.Stderr.NextOffset,
			WaitMS: mcp.MaxWait, MaxBytes: page,
		})
	}
	if id != "" && ctx.Err() != nil {
		return stop(ctx, c, out, args.JobID, id)
	}
	if err != nil {
		return err
	}
	return end(out, res)
}

// stop kills the command of somebody who does not wait for it any more.
func stop(ctx context.Context, c client, out *iostreams.IOStreams, jobID, execID string) error {
	const within = 5 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	if _, err := c.StopExec(ctx, mcp.ExecRef{JobID: jobID, ExecID: execID}); err != nil {
		out.Note("\ninterrupted; the command could not be stopped and runs until its time is over: %s\n", cmdutil.Message(err))
	} else {
		out.Note("\ninterrupted; the command is killed\n")
	}
	return &cmdutil.ExitError{Code: mcp.ExitInterrupted}
}

// end turns the command's end into ours.
func end(out *iostreams.IOStreams, res mcp.ExecResult) error {
	if res.Truncated {
		out.Note("# there was more output than the hub keeps\n")
	}
	switch {
	case res.ExitCode != nil && *res.ExitCode == 0:
		return nil
	case res.ExitCode != nil:
		return &cmdutil.ExitError{Code: *res.ExitCode}
	case res.Status == "timed_out":
		out.Note("error: the command was killed: %s\n", res.Message)
		return &cmdutil.ExitError{Code: mcp.ExitJobTimedOut}
	}
	return &mcp.Error{Code: mcp.CodeConflict, Message: fmt.Sprintf("the command %s: %s", res.Status, res.Message), Hint: "see explain_job"}
}

func show(out *iostreams.IOStreams, res mcp.ExecResult) error {
	if err := write(out.Out, out.OutTTY, res.Stdout); err != nil {
		return err
	}
	return write(out.Err, out.ErrTTY, res.Stderr)
}

// write passes on a piece of output: to a pipe as it is, to a terminal without what would steer it.
func write(w io.Writer, tty bool, o mcp.ExecOutput) error {
	data := o.Text
	switch {
	case tty:
		data = iostreams.Printable(data)
	case o.Base64 != "":
		raw, err := base64.StdEncoding.DecodeString(o.Base64)
		if err != nil {
			return fmt.Errorf("the hub sent output that is not base64: %w", err)
		}
		data = string(raw)
	}
	_, err := io.WriteString(w, data)
	return err
}
