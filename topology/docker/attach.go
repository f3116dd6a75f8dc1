package docker

import (
	"bytes"
	"context"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/runnerhub/runnerhub/topology"
)

// The engine's own log of a container: what Attach reads after a runner was killed.
// Of the drivers that can be read, local is the one that keeps every byte as it
// was. What that costs is in
// docs/adr/0007-what-survives-a-kill.md.
const (
	logDriver  = "local"
	logFile    = "16m" // begun anew at this size
	logFiles   = "5"
	podmanLog  = "80m"
	lateOutput = 32 << 10 // the engine logs a line when it ends, or 16 KiB of it; listeners have it at once
)

func (e *Engine) logConfig() container.LogConfig {
	if e.podman.Load() { // it has one kind of file, which keeps every byte too
		return container.LogConfig{Type: "json-file", Config: map[string]string{"max-size": podmanLog}}
	}
	return container.LogConfig{Type: logDriver, Config: map[string]string{
		"max-size": logFile, "max-file": logFiles, "compress": "false",
	}}
}

// Attach listens to a container that was started before, by way of the engine's log.
func (e *Engine) Attach(ctx context.Context, name string, from topology.Offsets, out topology.Output) (topology.Process, error) {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	timer := time.AfterFunc(callTimeout, cancel)
	fail := func(err error) (topology.Process, error) {
		cancel()
		return nil, wrap("attach to container "+name, contextual(ctx, err))
	}
	state, err := e.client.ContainerInspect(life, name)
	switch {
	case err != nil:
		return fail(err)
	case state.State.Status == "created":
		return fail(&topology.EngineError{Kind: topology.KindNotRunning, Op: "attach to container " + name, Err: errNeverStarted})
	}
	there, err := e.retained(life, name, from)
	if err != nil {
		return fail(err)
	}
	read := &logReader{engine: e, name: name, seen: map[topology.Stream]int64{}}
	if there {
		read.seen[topology.Stdout], read.seen[topology.Stderr] = from.Stdout.Bytes, from.Stderr.Bytes
	} else {
		read.since = from.At.Format(time.RFC3339Nano)
		if out != nil {
			out(topology.System, []byte("The engine has not kept all that was written meanwhile: output may be missing here, or be there twice.\n"))
		}
	}
	started, err := time.Parse(time.RFC3339Nano, state.State.StartedAt)
	if err != nil {
		return fail(err)
	}
	p := &process{engine: e, name: name, cancel: cancel, done: make(chan struct{}), since: started.Add(-time.Second), taken: true}
	end := cancel
	if state.Config.OpenStdin && state.State.Running {
		stream, err := e.client.ContainerAttach(streamContext(life), name, container.AttachOptions{Stream: true, Stdin: true})
		if err == nil { // else it has just ended
			p.stdin = stream.Conn
			end = func() { stream.Close(); cancel() }
		}
	}
	timer.Stop()
	if !stop() {
		end()
		return fail(context.Cause(ctx))
	}
	exits, errs := e.client.ContainerWait(life, name, container.WaitConditionNotRunning)
	copyLog := func(to topology.Output) error { return read.copy(life, to) }
	go p.run(life, output{copyLog, end}, exits, errs, out)
	return p, nil
}

// logReader reads an engine's log of a container to its end.
type logReader struct {
	engine *Engine
	name   string
	since  string                    // "" is from the beginning
	seen   map[topology.Stream]int64 // bytes since then that are not to be passed on (any more)
}

// copy passes on what comes until the container has ended. An engine may end the
// stream before it has logged a last line that has no end, so it is asked once more.
func (r *logReader) copy(ctx context.Context, out topology.Output) error {
	for _, follow := range []bool{true, false} {
		logs, err := r.engine.client.ContainerLogs(ctx, r.name, container.LogsOptions{
			ShowStdout: true, ShowStderr: true, Follow: follow, Since: r.since,
		})
		if err != nil {
			return err
		}
		err = demultiplex(logs, r.unseen(out))
		_ = logs.Close()
		if err != nil || ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// unseen leaves out what was passed on before.
func (r *logReader) unseen(out topology.Output) topology.Output {
	if out == nil {
		out = silent
	}
	at := map[topology.Stream]int64{}
	return func(stream topology.Stream, data []byte) {
		skip := min(max(r.seen[stream]-at[stream], 0), int64(len(data)))
		at[stream] += int64(len(data))
		if data = data[skip:]; len(data) > 0 {
			r.seen[stream] += int64(len(data))
			out(stream, data)
		}
	}
}

// retained says whether the engine's log still goes back to its beginning, so that
// places in it can be counted.
func (e *Engine) retained(ctx context.Context, name string, from topology.Offsets) (bool, error) {
	if from.Stdout.Bytes == 0 && from.Stderr.Bytes == 0 {
		return true, nil
	}
	logs, err := e.client.ContainerLogs(ctx, name, container.LogsOptions{ShowStdout: true, ShowStderr: true})
	if err != nil {
		return false, err
	}
	defer func() { _ = logs.Close() }()
	seen := map[topology.Stream]*passage{
		topology.Stdout: {want: from.Stdout}, topology.Stderr: {want: from.Stderr},
	}
	if err := demultiplex(logs, func(s topology.Stream, data []byte) { seen[s].pass(data) }); err != nil {
		return false, err
	}
	return seen[topology.Stdout].found() && seen[topology.Stderr].found(), nil
}

// passage looks for an offset in a stream that goes by.
type passage struct {
	want topology.Offset
	at   int64
	tail []byte // the last bytes before want
}

func (p *passage) pass(data []byte) {
	if rest := p.want.Bytes - p.at; rest > 0 {
		before := data[:min(rest, int64(len(data)))]
		p.tail = append(p.tail, before...)
		p.tail = p.tail[max(0, len(p.tail)-topology.OffsetTail):]
	}
	p.at += int64(len(data))
}

// found says whether what went by has the offset where it is to be. The end of the
// stream may not have come yet.
func (p *passage) found() bool {
	if p.at < p.want.Bytes {
		return p.want.Bytes-p.at <= lateOutput
	}
	return bytes.HasSuffix(p.tail, p.want.Tail)
}
