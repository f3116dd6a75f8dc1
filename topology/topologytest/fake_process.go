package topologytest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/runnerhub/runnerhub/topology"
)

// errFrozen is what a process of a frozen engine is lost to.
var errFrozen = errors.New("the engine is frozen")

// FakeProcess is a process as a Program sees it.
type FakeProcess struct {
	Argv           []string // with the entrypoint
	Env            []string
	Dir            string // of an exec that names one
	Given          []byte // the standard input of an exec
	Stdout, Stderr io.Writer
	// Stdin yields what is written to the process; it never ends.
	Stdin <-chan []byte
	// Signals yields every signal but SIGKILL.
	Signals <-chan string
	// Killed is closed when the process is to end at once.
	Killed <-chan struct{}

	// OOM, set before the program returns, makes memory the reason of its end.
	OOM bool

	container *fakeContainer
	signals   chan string
	killed    chan struct{}
	kill      func()
	done      chan struct{}
	exit      topology.Exit
	stdin     chan []byte
}

// fakeContainer is a container and the processes in it.
type fakeContainer struct {
	fake *Fake
	spec topology.ContainerSpec
	own  fakeTree // the files that are in no volume

	log *fakeLog

	mu    sync.Mutex
	main  *FakeProcess // nil until started
	execs map[*FakeProcess]bool
	oom   bool // of a step
}

func newFakeContainer(f *Fake, spec topology.ContainerSpec) *fakeContainer {
	return &fakeContainer{fake: f, spec: spec, own: fakeTree{}, log: &fakeLog{}, execs: map[*FakeProcess]bool{}}
}

func (c *fakeContainer) isRunning() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running()
}

func (c *fakeContainer) wasStarted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.main != nil
}

// running wants c.mu held.
func (c *fakeContainer) running() bool {
	if c.main == nil {
		return false
	}
	select {
	case <-c.main.done:
		return false
	default:
		return true
	}
}

// spawn starts a program.
func (c *fakeContainer) spawn(spec topology.ExecSpec, program Program, out topology.Output) *FakeProcess {
	if out == nil {
		out = func(topology.Stream, []byte) {}
	}
	p := &FakeProcess{
		container: c,
		Argv:      spec.Argv, Env: spec.Env, Dir: spec.WorkingDir, Given: spec.Stdin,
		Stdout: fakeWriter{topology.Stdout, out}, Stderr: fakeWriter{topology.Stderr, out},
		stdin: make(chan []byte, 64), signals: make(chan string, 8), killed: make(chan struct{}), done: make(chan struct{}),
	}
	p.Stdin, p.Signals, p.Killed = p.stdin, p.signals, p.killed
	p.kill = sync.OnceFunc(func() { close(p.killed) })
	go func() {
		code := program(p)
		select {
		case <-p.killed:
			code = 137
		default:
		}
		p.exit = topology.Exit{Code: code, OOM: p.OOM}
		close(p.done)
	}()
	return p
}

// kill ends everything in the container.
func (c *fakeContainer) kill() {
	c.mu.Lock()
	main := c.main
	for p := range c.execs {
		p.kill()
	}
	c.mu.Unlock()
	if main != nil {
		main.kill()
		<-main.done
	}
}

// program finds what a command line runs.
func (f *Fake) program(argv []string) Program {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(argv) == 0 {
		return nil
	}
	return f.programs[argv[len(argv)-1]]
}

// Start runs the program of the container's command line.
func (f *Fake) Start(ctx context.Context, name string, out topology.Output) (topology.Process, error) {
	op := "start container " + name
	if err := f.enter(ctx, "Start", name); err != nil {
		return nil, err
	}
	c, err := f.container(op, name)
	if err != nil {
		return nil, err
	}
	argv := append(append([]string(nil), c.spec.Entrypoint...), c.spec.Command...)
	program := f.program(argv)
	if i := slices.Index(argv, topology.StepsName); i > 0 {
		program = f.stepsProgram(c, argv[i+1:])
	}
	if program == nil {
		return nil, fault(topology.KindCommand, op, "executable file not found in $PATH")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.main != nil {
		return nil, fault(topology.KindInvalid, op, "already started")
	}
	listener := c.log.listen(topology.Offsets{}, out)
	c.main = c.spawn(topology.ExecSpec{Argv: argv, Env: c.spec.Env}, program, c.log.write)
	main := c.main
	go func() { // what else runs in a container ends with its main process
		<-main.done
		c.kill()
	}()
	return &fakeMain{f, main, c.log, listener}, nil
}

// Attach listens to a container that was started.
func (f *Fake) Attach(ctx context.Context, name string, from topology.Offsets, out topology.Output) (topology.Process, error) {
	op := "attach to container " + name
	if err := f.enter(ctx, "Attach", name); err != nil {
		return nil, err
	}
	c, err := f.container(op, name)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.main == nil {
		return nil, fault(topology.KindNotRunning, op, "the container was never started")
	}
	return &fakeMain{f, c.main, c.log, c.log.listen(from, out)}, nil
}

type fakeMain struct {
	fake     *Fake
	process  *FakeProcess
	log      *fakeLog
	listener *fakeListener
}

func (m *fakeMain) Wait(ctx context.Context) (topology.Exit, error) {
	select {
	case <-m.process.done:
	case <-ctx.Done():
		return topology.Exit{}, context.Cause(ctx)
	}
	select {
	case <-m.fake.frozen:
		<-ctx.Done()
		return topology.Exit{}, errFrozen
	default:
		return m.process.exit, nil
	}
}

func (m *fakeMain) Write(data []byte) (int, error) {
	select {
	case m.process.stdin <- bytes.Clone(data):
		return len(data), nil
	case <-m.process.done:
		return 0, fault(topology.KindNotRunning, "write to a container", "the container is not running")
	}
}

func (m *fakeMain) Close() { m.log.leave(m.listener) }

// Exec runs a program in a container.
func (f *Fake) Exec(ctx context.Context, name string, spec topology.ExecSpec, out topology.Output) (topology.Exit, error) {
	op := "run a process in container " + name
	if err := f.enter(ctx, "Exec", name); err != nil {
		return topology.Exit{}, err
	}
	c, err := f.container(op, name)
	if err != nil {
		return topology.Exit{}, err
	}
	program := f.program(spec.Argv)
	if program == nil {
		program = func(*FakeProcess) int { return 127 }
	}
	c.mu.Lock()
	if !c.running() {
		c.mu.Unlock()
		return topology.Exit{}, fault(topology.KindNotRunning, op, "container is not running")
	}
	spec.Env = append(append([]string(nil), c.spec.Env...), spec.Env...)
	p := c.spawn(spec, program, out)
	c.execs[p] = true
	c.mu.Unlock()
	select {
	case <-p.done:
		c.mu.Lock()
		delete(c.execs, p)
		c.mu.Unlock()
	case <-ctx.Done():
		return topology.Exit{}, fault(topology.KindUnavailable, op, context.Cause(ctx).Error())
	}
	select {
	case <-f.frozen:
		<-ctx.Done()
		return topology.Exit{}, fault(topology.KindUnavailable, op, errFrozen.Error())
	default:
		return p.exit, nil
	}
}

// Signal sends a signal to the main process.
func (f *Fake) Signal(ctx context.Context, name, signal string) error {
	op := "send " + signal + " to container " + name
	if err := f.enter(ctx, "Signal", name+" "+signal); err != nil {
		return err
	}
	c, err := f.container(op, name)
	if err != nil {
		return err
	}
	c.mu.Lock()
	running, main := c.running(), c.main
	c.mu.Unlock()
	if !running {
		return fault(topology.KindNotRunning, op, "container is not running")
	}
	if signal == "SIGKILL" {
		c.kill()
		return nil
	}
	main.signals <- signal
	return nil
}

// SignalAll sends a signal to all but the main process.
func (f *Fake) SignalAll(ctx context.Context, name, _, signal string) error {
	op := "send " + signal + " to the processes of container " + name
	if err := f.enter(ctx, "SignalAll", name+" "+signal); err != nil {
		return err
	}
	c, err := f.container(op, name)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for p := range c.execs {
		if signal == "SIGKILL" {
			p.kill()
		} else {
			p.signals <- signal
		}
	}
	return nil
}

// Usage makes figures up.
func (f *Fake) Usage(ctx context.Context, name string) (topology.Usage, error) {
	if err := f.enter(ctx, "Usage", name); err != nil {
		return topology.Usage{}, err
	}
	c, err := f.container("read the usage of container "+name, name)
	if err == nil && !c.isRunning() {
		err = fault(topology.KindNotRunning, "read the usage of container "+name, "container is not running")
	}
	return topology.Usage{CPU: 1, MemoryPeak: 1 << 20}, err
}

type fakeWriter struct {
	stream topology.Stream
	out    topology.Output
}

func (w fakeWriter) Write(p []byte) (int, error) {
	w.out(w.stream, p)
	return len(p), nil
}
