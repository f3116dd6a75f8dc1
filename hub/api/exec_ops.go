package api

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/mcp"
)

var execPageLimits = limits{
	"job_id": idLimit, "wait_ms": waitLimit, "max_bytes": byDefault(dispatch.DefaultExecPage, between(1, dispatch.MaxExecPage)),
}

func execInJob(s Services) Operation {
	return define(Operation{
		Name: mcp.ToolExecInJob, Title: "Run a command in a job's container", Audience: People, Toolset: JobTools,
		Description: "Run a command in a container of a job that is a session, that is held (it has failed, with hold_on_failure in its spec), or that runs with `exec: true`. " +
			"With wait_ms the answer has its exit code and output; until done is true go on with wait_exec. " +
			"It is run at most once: before you repeat a call whose answer was lost, look at the timeline in explain_job.",
		Hints: Hints{Destructive: true, OpenWorld: true},
		Route: Route{Method: http.MethodPost, Path: "/jobs/{job_id}/exec", MaxBody: 2 << 20},
		limits: execPageLimits.with(limits{
			"service": upTo(63), "command": items(1000, 64<<10), "user": upTo(256), "working_dir": upTo(4096),
			"stdin": upTo(dispatch.MaxExecStdin), "stdin_base64": upTo(2 * dispatch.MaxExecStdin),
			"timeout_ms": byDefault(ms(dispatch.DefaultExecTimeout), between(1, int(ms(dispatch.MaxExecTimeout)))),
		}),
	}, func(ctx context.Context, p hub.Principal, in mcp.ExecInJobArgs) (mcp.ExecResult, error) {
		stdin, err := eitherBytes("stdin", in.Stdin, in.StdinBase64)
		if err != nil {
			return mcp.ExecResult{}, err
		}
		got, err := s.Jobs.StartExec(ctx, p, dispatch.ExecRequest{
			JobID: in.JobID, Service: in.Service, Command: in.Command, Env: in.Env, User: in.User, WorkingDir: in.WorkingDir,
			Stdin: stdin, Timeout: duration(in.TimeoutMS), Wait: duration(in.WaitMS), MaxBytes: in.MaxBytes, Progress: execProgress(ctx),
		})
		return execView(got), err
	}, execText)
}

func waitExec(s Services) Operation {
	return define(Operation{
		Name: mcp.ToolWaitExec, Title: "Wait for a command in a job", Audience: People, Toolset: JobTools,
		Description: "More output of a command that exec_in_job has started, once there is some or the command has ended. " +
			"Go on until done is true. It is kept for ten minutes after the end.",
		Hints:  Hints{ReadOnly: true, Idempotent: true},
		Route:  Route{Method: http.MethodGet, Path: "/jobs/{job_id}/execs/{exec_id}"},
		limits: execPageLimits.with(limits{"exec_id": idLimit, "stdout_from": atLeast(0), "stderr_from": atLeast(0)}),
	}, func(ctx context.Context, p hub.Principal, in mcp.WaitExecArgs) (mcp.ExecResult, error) {
		got, err := s.Jobs.WaitExec(ctx, p, dispatch.WaitExecRequest{
			JobID: in.JobID, ExecID: in.ExecID, StdoutFrom: in.StdoutFrom, StderrFrom: in.StderrFrom,
			Wait: duration(in.WaitMS), MaxBytes: in.MaxBytes, Progress: execProgress(ctx),
		})
		return execView(got), err
	}, execText)
}

func stopExec(s Services) Operation {
	return define(Operation{
		Name: mcp.ToolStopExec, Title: "Stop a command in a job", Audience: People, Toolset: JobTools,
		Description: "Kill a command that exec_in_job has started, with all that it has started; the job goes on.",
		Hints:       Hints{Destructive: true, Idempotent: true},
		Route:       Route{Method: http.MethodPost, Path: "/jobs/{job_id}/execs/{exec_id}/stop"},
		limits:      limits{"job_id": idLimit, "exec_id": idLimit},
	}, func(ctx context.Context, p hub.Principal, in mcp.ExecRef) (mcp.ExecResult, error) {
		got, err := s.Jobs.StopExec(ctx, p, in.JobID, in.ExecID)
		return execView(got), err
	}, execText)
}

func endHold(s Services) Operation {
	return define(Operation{
		Name: mcp.ToolEndHold, Title: "End a session or a hold", Audience: People, Toolset: JobTools,
		Description: "End a session, which succeeds, or let go of a held job, which ends as it had failed or is retried. Its containers are removed. " +
			"Next: wait_job with follow=end.",
		Hints:  Hints{Destructive: true},
		Route:  Route{Method: http.MethodPost, Path: "/jobs/{job_id}/end-hold"},
		limits: limits{"job_id": idLimit},
	}, func(ctx context.Context, p hub.Principal, in mcp.JobRef) (mcp.EndHoldResult, error) {
		got, err := s.Jobs.EndHold(ctx, p, in.JobID)
		if err != nil {
			return mcp.EndHoldResult{}, err
		}
		job, err := jobView(s.Jobs.Now(), got)
		return mcp.EndHoldResult{Job: job}, err
	}, func(out mcp.EndHoldResult) string { return jobLine(out.Job) })
}

func startCopy(s Services) Operation {
	return define(Operation{
		Name: "start_copy", Title: "Copy into or out of a job", Audience: People, Toolset: JobTools, HTTPOnly: true,
		Description: "Open a copy of a tar archive. With put, of bytes bytes, that is then sent to execs/{exec_id}/input and unpacked at path; without it, of what is " +
			"at path, which is then read from execs/{exec_id}/output. Allowed while exec_in_job is.",
		Hints:  Hints{Destructive: true},
		Route:  Route{Method: http.MethodPost, Path: "/jobs/{job_id}/copies"},
		limits: limits{"job_id": idLimit, "service": upTo(63), "path": text(4096), "bytes": atLeast(0)},
	}, func(ctx context.Context, p hub.Principal, in mcp.CopyArgs) (mcp.ExecResult, error) {
		got, err := s.Jobs.StartCopy(ctx, p, dispatch.CopyRequest{
			JobID: in.JobID, Service: in.Service, Path: in.Path, Put: in.Put, Bytes: in.Bytes,
		})
		return execView(got), err
	}, execText)
}

func execView(r dispatch.ExecPage) mcp.ExecResult {
	x := r.Exec
	out := mcp.ExecResult{
		JobID: x.JobID, ExecID: x.ID, State: string(x.State), Done: r.Done,
		Stdout: outputView(r.Stdout, r.StdoutNext), Stderr: outputView(r.Stderr, r.StderrNext),
	}
	if e := x.End; e != nil {
		out.Status, out.ExitCode, out.Message, out.Truncated = e.Status, e.ExitCode, e.Message, e.Truncated
	}
	return out
}

func outputView(data []byte, next int64) mcp.ExecOutput {
	out := mcp.ExecOutput{Text: string(data), NextOffset: next}
	if !utf8.Valid(data) {
		out.Text = strings.ToValidUTF8(out.Text, "\uFFFD")
		out.Base64 = base64.StdEncoding.EncodeToString(data)
	}
	return out
}

// execText is how a command ended, and what it wrote.
func execText(out mcp.ExecResult) string {
	var line string
	switch {
	case out.ExitCode != nil:
		line = fmt.Sprintf("%s: %s with exit code %d.", out.ExecID, strings.ReplaceAll(out.Status, "_", " "), *out.ExitCode)
	case out.Status != "":
		line = fmt.Sprintf("%s: %s: %s.", out.ExecID, strings.ReplaceAll(out.Status, "_", " "), strings.TrimRight(out.Message, ". "))
	default:
		line = fmt.Sprintf("%s: %s. Call wait_exec to go on.", out.ExecID, out.State)
	}
	if out.Stdout.Text == "" && out.Stderr.Text == "" {
		return line
	}
	line += "\n" + untrusted
	for _, part := range []struct{ name, text string }{{"stdout", out.Stdout.Text}, {"stderr", out.Stderr.Text}} {
		if part.text != "" {
			line += "\n[" + part.name + "]\n" + lastOf(part.text)
		}
	}
	return line
}

// lastOf is the end of a command's output, as much of it as a text repeats.
func lastOf(text string) string {
	if len(text) <= maxQuoted {
		return text
	}
	return "… the structured answer alone has what comes before\n" + strings.ToValidUTF8(text[len(text)-maxQuoted:], "")
}

func ordersView(orders []dispatch.ExecOrder) []mcp.ExecOrder {
	var out []mcp.ExecOrder
	for _, o := range orders {
		out = append(out, mcp.ExecOrder{
			ExecID: o.ID, Kind: string(o.Kind), Service: o.Order.Service, Command: o.Order.Command, Env: o.Order.Env,
			User: o.Order.User, WorkingDir: o.Order.WorkingDir, Path: o.Order.Path,
			TimeoutMS: ms(o.Timeout), InputBytes: o.InputTotal, OutputLimit: o.Limit, Stop: o.Stop,
		})
	}
	return out
}
