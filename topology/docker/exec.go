package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/runnerhub/runnerhub/topology"
)

// Exec runs a process in a container.
//
// A child that it leaves behind may hold its output open for ever. Engines stop
// waiting for that 2 s after the process's end; for those that do not, the process
// is asked after from time to time.
func (e *Engine) Exec(ctx context.Context, name string, spec topology.ExecSpec, out topology.Output) (topology.Exit, error) {
	op := "run a process in container " + name
	created, err := e.client.ContainerExecCreate(ctx, name, container.ExecOptions{
		Cmd: spec.Argv, Env: spec.Env, User: spec.User, WorkingDir: spec.WorkingDir,
		AttachStdin: len(spec.Stdin) > 0, AttachStdout: true, AttachStderr: true,
	})
	if err != nil {
		return topology.Exit{}, wrap(op, err)
	}
	life, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := e.client.ContainerExecAttach(streamContext(life), created.ID, container.ExecAttachOptions{})
	if err != nil {
		return topology.Exit{}, wrap(op, contextual(ctx, err))
	}
	defer stream.Close()
	if len(spec.Stdin) > 0 {
		go func() { // ends with the stream: a process need not read it
			_, _ = stream.Conn.Write(spec.Stdin)
			_ = stream.CloseWrite()
		}()
	}
	copied := make(chan error, 1)
	var seen activity
	go func() { copied <- demultiplex(stream.Reader, seen.watch(out)) }()
	var ended time.Time // of the output
	state, err := e.execEnd(ctx, created.ID, copied, &seen, func() { ended = time.Now() }, stream.Close)
	if err != nil {
		return topology.Exit{}, wrap(op, contextual(ctx, err))
	}
	noteEarlyEnd(out, ended)
	exit := topology.Exit{Code: state.ExitCode}
	if exit.Code != 0 && spec.OOMShell != "" {
		exit.OOM = e.OutOfMemory(ctx, name, spec.OOMShell)
	}
	return exit, nil
}

// execEnd waits until all output is copied and the exit code known.
func (e *Engine) execEnd(ctx context.Context, id string, copied <-chan error, seen *activity, outputEnded, abandon func()) (container.ExecInspect, error) {
	const askEvery = 5 * time.Second
	ask := time.NewTicker(askEvery)
	defer ask.Stop()
	ended := 0
	var err error
	for waiting := true; waiting; {
		select {
		case err = <-copied:
			outputEnded()
			waiting = false
		case <-ctx.Done():
			abandon()
			<-copied //nolint:errcheck // it broke off, as it was told to
			return container.ExecInspect{}, context.Cause(ctx)
		case <-ask.C:
			if !seen.idle() {
				continue
			}
			if state, inspectErr := e.client.ContainerExecInspect(ctx, id); inspectErr == nil && !state.Running {
				if ended++; ended > 1 {
					abandon()
				}
			}
		}
	}
	if err != nil && ended == 0 {
		return container.ExecInspect{}, err
	}
	// The engine closes the stream a moment before it notes the exit code.
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		state, err := e.client.ContainerExecInspect(ctx, id)
		if err != nil || !state.Running {
			return state, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return state, context.Cause(ctx)
		}
	}
}

// Signal sends a signal to a container's main process.
func (e *Engine) Signal(ctx context.Context, name, signal string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	e.signalled.Store(name, true)
	return wrap(fmt.Sprintf("send %s to container %s", signal, name), e.client.ContainerKill(ctx, name, signal))
}

// SignalAll sends a signal to all but the main process, by a shell's own kill: no
// call of the engine's reaches the processes of an exec.
func (e *Engine) SignalAll(ctx context.Context, name, shell, signal string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	exit, err := e.Exec(ctx, name, topology.ExecSpec{
		Argv: []string{shell, "-c", "kill -" + signal[len("SIG"):] + " -1"}, User: "0",
	}, nil)
	if err != nil {
		return err
	}
	if exit.Code != 0 {
		return wrap(fmt.Sprintf("send %s to the processes of container %s", signal, name), fmt.Errorf("kill exited with code %d", exit.Code))
	}
	return nil
}

// contextual prefers the reason that ctx ended for to the broken connection that
// it left behind.
func contextual(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return cause
	}
	return err
}
