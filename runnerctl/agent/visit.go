package agent

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/topology"
)

// visit is one request on its way from begin to end.
type visit struct {
	d     *door
	order mcp.ExecOrder
	in    topology.Inside
	claim string
}

// run begins the request at the hub, carries it out, and tells what came of it. The claim is known to this process alone, so
// that after a crash nobody carries out what may have been begun.
func (v *visit) run(ctx context.Context) {
	err := v.insist(func() error { return v.d.hub.BeginExec(v.d.word, v.d.logURL, v.order.ExecID, v.claim) })
	if err != nil {
		v.d.logger.Debug("a request is left alone", "exec", v.order.ExecID, "err", err)
		return
	}
	v.d.logger.Info("a request of a caller", "exec", v.order.ExecID, "kind", v.order.Kind, "service", v.order.Service)
	if limit := time.Duration(v.order.TimeoutMS) * time.Millisecond; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, errExecTime)
		defer cancel()
	}
	end := v.carryOut(ctx)
	end.Claim = v.claim
	if err := v.insist(func() error { return v.d.hub.EndExec(v.d.word, v.d.logURL, v.order.ExecID, end) }); err != nil {
		v.d.logger.Warn("the hub was not told what a request came to", "exec", v.order.ExecID, "err", err)
	}
	if v.order.Kind == mcp.ExecRelease || v.order.Kind == mcp.ExecFinish {
		v.d.release()
	}
}

func (v *visit) carryOut(ctx context.Context) mcp.EndExecArgs {
	switch v.order.Kind {
	case mcp.ExecRun:
		return v.command(ctx)
	case mcp.ExecPut:
		return ended(ctx, v.put(ctx))
	case mcp.ExecGet:
		return ended(ctx, v.get(ctx))
	case mcp.ExecRelease, mcp.ExecFinish:
		return mcp.EndExecArgs{Status: "exited"}
	}
	return mcp.EndExecArgs{Status: "failed", Message: "this runner does not know such requests; install the hub's release on its machine"}
}

func (v *visit) command(ctx context.Context) mcp.EndExecArgs {
	o := v.order
	var stdin []byte
	for int64(len(stdin)) < o.InputBytes {
		part, err := v.input(int64(len(stdin)))
		if err != nil || len(part) == 0 {
			return mcp.EndExecArgs{Status: "failed", Message: fmt.Sprintf("its standard input cannot be read: %v", err)}
		}
		stdin = append(stdin, part...)
	}
	env := make([]string, 0, len(o.Env))
	for k, val := range o.Env {
		env = append(env, k+"="+val)
	}
	slices.Sort(env)
	out := newSender(v)
	exit, err := v.in.Exec(ctx, o.Service, topology.ExecSpec{
		Argv: o.Command, Env: env, User: o.User, WorkingDir: o.WorkingDir, Stdin: stdin,
	}, out.write)
	out.close()
	end := ended(ctx, err)
	if err == nil {
		end = mcp.EndExecArgs{Status: "exited", ExitCode: &exit.Code}
	}
	end.Truncated = out.truncated()
	return end
}

// ended is how a request ended that has no exit code.
func ended(ctx context.Context, err error) mcp.EndExecArgs {
	cause := context.Cause(ctx)
	switch {
	case err == nil:
		return mcp.EndExecArgs{Status: "exited"}
	case errors.Is(cause, errExecTime):
		return mcp.EndExecArgs{Status: "timed_out", Message: errExecTime.Error()}
	case errors.Is(cause, errExecStopped):
		return mcp.EndExecArgs{Status: "stopped", Message: errExecStopped.Error()}
	case cause != nil:
		return mcp.EndExecArgs{Status: "failed", Message: cause.Error()}
	}
	return mcp.EndExecArgs{Status: "failed", Message: clip(words(err), maxHint)}
}

// words are an error's, without what the engine was asked for.
func words(err error) string {
	var e *topology.EngineError
	if errors.As(err, &e) {
		return e.Err.Error()
	}
	return err.Error()
}

// path is where a copy goes or comes from: absolute.
func (v *visit) path() (string, error) {
	p := v.order.Path
	if !strings.HasPrefix(p, "/") {
		if v.order.Service != "" {
			return "", fmt.Errorf("a path in a service is absolute, and %q is not", clip(p, 80))
		}
		p = v.d.dir + "/" + p
	}
	return path.Clean(p), nil
}

func (v *visit) input(offset int64) (part []byte, err error) {
	err = v.insist(func() (err error) {
		part, err = v.d.hub.ExecInput(v.d.word, v.d.logURL, v.order.ExecID, offset)
		return err
	})
	return part, err
}

// insist repeats a call to the hub for as long as it may succeed.
func (v *visit) insist(call func() error) error {
	pause := hubBackoff()
	for {
		err := call()
		if err == nil || v.d.word.Err() != nil || !again(err) {
			return err
		}
		if !pause.wait(v.d.word, err) {
			return err
		}
	}
}
