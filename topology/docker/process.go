package docker

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"

	"github.com/runnerhub/runnerhub/topology"
)

// drainTimeout is how long after a process's end the stream of its output may be
// silent and yet open. Engines themselves give up on it after 2 s; more is for slow
// links.
const drainTimeout = 10 * time.Second

// process is a started container's main process.
type process struct {
	engine *Engine
	name   string
	cancel context.CancelFunc
	done   chan struct{}
	stdin  io.Writer // nil where nobody can write
	since  time.Time // what the engine did to the container before this is of no interest
	taken  bool      // listened to by Attach

	exit topology.Exit // set before done is closed
	err  error
}

// Start listens to a container and starts it.
func (e *Engine) Start(ctx context.Context, name string, out topology.Output) (topology.Process, error) {
	begin := time.Now()
	// What listens outlives ctx, until Close; beginning to listen does not.
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	timer := time.AfterFunc(callTimeout, cancel)
	fail := func(op string, err error) (topology.Process, error) {
		cancel()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, wrap(op+" container "+name, err)
	}
	stream, err := e.client.ContainerAttach(streamContext(life), name, container.AttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		return fail("attach to", err)
	}
	exits, errs := e.client.ContainerWait(life, name, container.WaitConditionNextExit)
	select {
	case err := <-errs:
		stream.Close()
		return fail("wait for", err)
	default:
	}
	err = e.client.ContainerStart(life, name, container.StartOptions{})
	if err == nil && !stop() {
		err = ctx.Err()
	}
	timer.Stop()
	if err != nil {
		stream.Close()
		_, failed := fail("start", err)
		select { // the client leaks the goroutine of a wait that nobody hears out
		case <-exits:
		case <-errs: //nolint:errcheck // why the start failed is known
		}
		return nil, failed
	}
	p := &process{engine: e, name: name, cancel: cancel, done: make(chan struct{}), stdin: stream.Conn, since: begin}
	go p.run(life, output{func(to topology.Output) error { return demultiplex(stream.Reader, to) }, stream.Close}, exits, errs, out)
	return p, nil
}

// output is where what a process writes comes from, and what ends that.
type output struct {
	copy  func(topology.Output) error
	close func()
}

// run copies output and waits for the exit; both must be there for Wait to return.
func (p *process) run(ctx context.Context, stream output, exits <-chan container.WaitResponse, errs <-chan error, out topology.Output) {
	defer close(p.done)
	copied := make(chan error, 1)
	var copying sync.WaitGroup
	var seen activity
	copying.Go(func() { copied <- stream.copy(seen.watch(out)) })
	defer copying.Wait()
	defer stream.close()
	op := "wait for container " + p.name
	var ended time.Time // of the output, when it ends before the process does
	var broken error
	for waiting := true; waiting; {
		select {
		case err := <-errs:
			p.err = wrap(op, err)
			return
		case broken = <-copied:
			copied, ended = nil, time.Now()
		case response := <-exits:
			p.exit.Code = int(response.StatusCode)
			if response.Error != nil && response.Error.Message != "" {
				p.err = wrap(op, errors.New(response.Error.Message))
				return
			}
			waiting = false
		}
	}
	if copied != nil {
		broken = drain(ctx, copied, &seen)
	}
	if broken != nil && !errors.Is(broken, net.ErrClosed) {
		p.err = wrap("read the output of container "+p.name, broken)
	}
	noteEarlyEnd(out, ended)
	if p.exit.Code != 0 {
		p.exit.OOM = p.engine.oomKilled(ctx, p.name, p.exit.Code)
		p.exit.Outside = !p.exit.OOM && p.engine.endedFromOutside(ctx, p.name, p.exit.Code, p.since, p.taken)
	}
}

// drain waits for the end of the output of a process that has ended.
func drain(ctx context.Context, copied <-chan error, seen *activity) error {
	silence := time.NewTicker(drainTimeout)
	defer silence.Stop()
	seen.idle()
	for {
		select {
		case err := <-copied:
			return err
		case <-silence.C:
			if seen.idle() {
				return nil
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// Wait waits for the exit and the last of the output.
func (p *process) Wait(ctx context.Context) (topology.Exit, error) {
	select {
	case <-p.done:
		return p.exit, p.err
	case <-ctx.Done():
		return topology.Exit{}, context.Cause(ctx)
	}
}

// Write writes to the process's standard input.
func (p *process) Write(data []byte) (int, error) {
	if p.stdin == nil {
		return 0, wrap("write to container "+p.name, errors.New("the container is not running"))
	}
	n, err := p.stdin.Write(data)
	return n, wrap("write to container "+p.name, err)
}

// Close stops listening.
func (p *process) Close() {
	p.cancel()
	<-p.done
}

// demultiplex hands the frames of a stream to out until its end.
func demultiplex(r io.Reader, out topology.Output) error {
	if out == nil {
		out = silent
	}
	_, err := stdcopy.StdCopy(sink{topology.Stdout, out}, sink{topology.Stderr, out}, r)
	return err
}

func silent(topology.Stream, []byte) {}

type sink struct {
	stream topology.Stream
	out    topology.Output
}

func (s sink) Write(data []byte) (int, error) {
	s.out(s.stream, data)
	return len(data), nil
}
