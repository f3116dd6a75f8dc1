package host

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// command is one that runs in a container, behind its supervisor.
type command struct {
	c          *container
	supervisor int
	pid        int // of the command itself
	stdin      *os.File
	done       chan struct{}
	exit       topology.Exit // set before done is closed

	mu      sync.Mutex
	orders  *os.File // nil once the supervisor is gone
	out     topology.Output
	talking sync.Mutex // held while out is called: one stream at a time
}

var _ topology.Process = (*command)(nil)

// pipes are the ends of a command's streams and of the talk with its supervisor: the first of each is
// the reading one.
type pipes struct{ stdin, stdout, stderr, orders, news [2]*os.File }

func openPipes() (p pipes, err error) {
	for _, pair := range []*[2]*os.File{&p.stdin, &p.stdout, &p.stderr, &p.orders, &p.news} {
		if pair[0], pair[1], err = os.Pipe(); err != nil {
			p.close()
			return p, err
		}
	}
	return p, nil
}

func (p pipes) close() {
	for _, pair := range [][2]*os.File{p.stdin, p.stdout, p.stderr, p.orders, p.news} {
		for _, f := range pair {
			if f != nil {
				_ = f.Close()
			}
		}
	}
}

// run starts a command in the container and returns when it has begun. main says that it is what the container was made
// for: everything in the container's control groups ends with it, and its standard input may be kept open.
func (c *container) run(spec topology.ExecSpec, main bool, out topology.Output) (*command, error) {
	op := "start " + c.name
	p, err := openPipes()
	if err != nil {
		return nil, fault(op, err)
	}
	in := p.stdin[0]
	if !main || !c.spec.OpenStdin {
		go func() { // a command need not read it
			_, _ = p.stdin[1].Write(spec.Stdin)
			_ = p.stdin[1].Close()
		}()
	}
	helper := exec.Command("/proc/self/exe") //nolint:noctx // it ends with the command, and the command by an order
	helper.Args, helper.Env, helper.Dir = []string{supervisorName}, []string{markVariable + "=" + c.name}, "/"
	helper.Stdin, helper.Stdout, helper.Stderr = in, p.stdout[1], p.stderr[1]
	helper.ExtraFiles = []*os.File{p.orders[0], p.news[1]}
	helper.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = helper.Start()
	for _, f := range []*os.File{in, p.stdout[1], p.stderr[1], p.orders[0], p.news[1]} {
		_ = f.Close()
	}
	if err != nil {
		p.close()
		return nil, fault(op, err)
	}
	o := order{
		Argv: spec.Argv, Env: c.environ(spec.Env, spec.WorkingDir), Dir: c.path(spec.WorkingDir), User: c.user,
		Join: c.group.join(), Limits: c.limits(), CPUs: c.cpus(),
	}
	if main {
		o.Group = c.group.dirs()
	}
	heard := json.NewDecoder(p.news[0])
	var begun news
	if err = json.NewEncoder(p.orders[1]).Encode(o); err == nil {
		err = heard.Decode(&begun)
	}
	if err == nil && begun.Failed != "" {
		err = &topology.EngineError{Kind: begun.Kind, Op: op, Err: errors.New(begun.Failed)}
	}
	if err != nil {
		p.close()
		_ = helper.Wait()
		return nil, fault(op, err)
	}
	x := &command{
		c: c, supervisor: helper.Process.Pid, pid: begun.PID, stdin: p.stdin[1], done: make(chan struct{}), orders: p.orders[1], out: out,
	}
	go x.follow(helper, heard, p)
	return x, nil
}

// follow waits for the end of the command and of its output.
func (x *command) follow(helper *exec.Cmd, heard *json.Decoder, p pipes) {
	var readers sync.WaitGroup
	readers.Go(func() { x.read(topology.Stdout, p.stdout[0]) })
	readers.Go(func() { x.read(topology.Stderr, p.stderr[0]) })
	var end news
	err := heard.Decode(&end)
	if err != nil { // somebody has killed the supervisor
		_ = helper.Wait()
		end = news{Ended: true, Code: 128 + int(syscall.SIGKILL), Undying: killLeft(x.c.name, x.c.group.dirs())}
	} else {
		_ = helper.Wait() // it has said how the command ended
	}
	if end.Undying > 0 { // they may hold the streams open for ever
		soon := time.Now().Add(time.Second)
		_, _ = p.stdout[0].SetReadDeadline(soon), p.stderr[0].SetReadDeadline(soon)
	}
	readers.Wait()
	x.mu.Lock()
	x.orders = nil
	x.mu.Unlock()
	p.close()
	x.exit = topology.Exit{Code: end.Code}
	x.c.left(x, end)
	close(x.done)
}

// read passes a stream on until it ends.
func (x *command) read(stream topology.Stream, from *os.File) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			x.talking.Lock()
			x.mu.Lock()
			out := x.out
			x.mu.Unlock()
			if out != nil {
				out(stream, buffer[:n])
			}
			x.talking.Unlock()
		}
		if err != nil {
			return
		}
	}
}

// ended says whether the command and all its output have ended.
func (x *command) ended() bool {
	select {
	case <-x.done:
		return true
	default:
		return false
	}
}

// Wait returns how the command ended, when all of its output has been passed on.
func (x *command) Wait(ctx context.Context) (topology.Exit, error) {
	select {
	case <-x.done:
		return x.exit, nil
	case <-ctx.Done():
		return topology.Exit{}, context.Cause(ctx)
	}
}

// Write writes to the command's standard input.
func (x *command) Write(p []byte) (int, error) {
	n, err := x.stdin.Write(p)
	if err != nil {
		return n, faultf(topology.KindNotRunning, "write to "+x.c.name, "%w", err)
	}
	return n, nil
}

// Close stops listening. What the command still writes is thrown away.
func (x *command) Close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.out = nil
}

// kill has the supervisor kill the command and all that came of it.
func (x *command) kill() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.orders != nil {
		if err := json.NewEncoder(x.orders).Encode(killOrder); err != nil && !errors.Is(err, io.ErrClosedPipe) {
			_ = syscall.Kill(x.supervisor, syscall.SIGKILL) // it does not listen: follow kills the rest
		}
	}
}
