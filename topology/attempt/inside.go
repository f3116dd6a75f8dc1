package attempt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// inside is the topology.Inside of an attempt.
type inside struct{ x *execution }

// container finds a container by its service's name. runs asks for one that can run commands.
func (in *inside) container(service string, runs bool) (string, error) {
	x := in.x
	if service == "" {
		x.mu.Lock()
		defer x.mu.Unlock()
		switch {
		case !x.running:
			return "", refused(topology.KindNotRunning, "the job's container was not started")
		case runs && x.stand != "":
			return x.stand, nil
		}
		return x.names.Job, nil
	}
	name, ok := x.names.Services[service]
	if !ok {
		words := strings.Join(slices.Sorted(maps.Keys(x.names.Services)), ", ")
		if words == "" {
			words = "there are none"
		}
		return "", refused(topology.KindNotFound, fmt.Sprintf("the job has no service %s (%s)", service, words))
	}
	return name, nil
}

func refused(kind topology.ErrorKind, why string) error {
	return &topology.EngineError{Kind: kind, Op: "look into the job", Err: errors.New(why)}
}

// killPatience is how long a killed process may take to be gone.
const killPatience = 10 * time.Second

// Exec implements topology.Inside. No engine can end a process that it runs beside the main one, so a shell tells the
// process's number before it becomes it; where there is no shell the process runs all the same.
func (in *inside) Exec(ctx context.Context, service string, spec topology.ExecSpec, out topology.Output) (topology.Exit, error) {
	name, err := in.container(service, true)
	if err != nil {
		return topology.Exit{}, err
	}
	ctx, done, err := in.x.use.begin(ctx)
	if err != nil {
		return topology.Exit{}, err
	}
	defer done()
	shell := "/bin/sh"
	if service == "" {
		shell = in.x.spec.HoldingShell()
	}
	first := &firstLine{mark: topology.NewTag(), out: out}
	told := spec
	told.Argv = append([]string{shell, "-c", `echo "$0 $$"; exec "$@"`, first.mark}, spec.Argv...)
	exit, err := in.run(ctx, name, shell, told, first)
	noShell := topology.KindOf(err) == topology.KindCommand || err == nil && (exit.Code == 126 || exit.Code == 127)
	if first.process() != 0 || ctx.Err() != nil || !noShell {
		return exit, err
	}
	// Nothing was heard of the shell, so that it has run nothing.
	return in.run(ctx, name, "", spec, &firstLine{out: out})
}

// run runs a process until it ends or ctx does.
func (in *inside) run(ctx context.Context, name, shell string, spec topology.ExecSpec, first *firstLine) (topology.Exit, error) {
	engine := in.x.e.engine
	life, abandon := context.WithCancel(in.x.live)
	defer abandon()
	type end struct {
		exit topology.Exit
		err  error
	}
	ended := make(chan end, 1)
	go func() {
		exit, err := engine.Exec(life, name, spec, first.write)
		ended <- end{exit, err}
	}()
	select {
	case e := <-ended:
		first.flush()
		return e.exit, e.err
	case <-ctx.Done():
	}
	if pid := first.process(); pid != 0 && shell != "" {
		kill := topology.ExecSpec{Argv: []string{shell, "-c", fmt.Sprintf("kill -9 -%d || kill -9 %d", pid, pid)}, User: "0"}
		_, _ = engine.Exec(life, name, kill, nil) // it may just have ended
	}
	select {
	case <-ended:
	case <-time.After(killPatience):
		abandon()
		<-ended
	case <-life.Done():
		<-ended
	}
	first.flush()
	return topology.Exit{}, context.Cause(ctx)
}

// CopyTo implements topology.Inside.
func (in *inside) CopyTo(ctx context.Context, service, dir string, tar io.Reader) error {
	name, err := in.container(service, false)
	if err != nil {
		return err
	}
	ctx, done, err := in.x.use.begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	return in.x.e.engine.CopyTo(ctx, name, dir, tar)
}

// CopyFrom implements topology.Inside.
func (in *inside) CopyFrom(ctx context.Context, service, path string) (io.ReadCloser, error) {
	name, err := in.container(service, false)
	if err != nil {
		return nil, err
	}
	ctx, done, err := in.x.use.begin(ctx)
	if err != nil {
		return nil, err
	}
	archive, err := in.x.e.engine.CopyFrom(ctx, name, path)
	if err != nil {
		done()
		return nil, err
	}
	return &usedArchive{archive, done}, nil
}

// usedArchive is an archive on its way out, which is a use until it is closed.
type usedArchive struct {
	io.ReadCloser
	done func()
}

// Close implements io.Closer.
func (a *usedArchive) Close() error {
	defer a.done()
	return a.ReadCloser.Close()
}

// firstLine takes the number of a process out of its output: the first line, which has a mark that nobody can guess. Without a
// mark it passes on everything.
type firstLine struct {
	mark string
	out  topology.Output

	mu   sync.Mutex
	head []byte // of standard output, until it is known to be the line or something else
	pid  int
	done bool // nothing is held back any more
}

// longestFirst is more than the line has.
const longestFirst = 64

func (f *firstLine) write(stream topology.Stream, data []byte) {
	if stream == topology.Stdout {
		data = f.strip(data)
	}
	if len(data) > 0 && f.out != nil {
		f.out(stream, data)
	}
}

// strip returns what of data is the command's own.
func (f *firstLine) strip(data []byte) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done || f.mark == "" {
		return data
	}
	f.head = append(f.head, data...)
	line, rest, whole := bytes.Cut(f.head, []byte("\n"))
	if !whole && len(f.head) <= longestFirst {
		return nil
	}
	f.done = true
	number, ok := bytes.CutPrefix(line, []byte(f.mark+" "))
	if pid, err := strconv.Atoi(string(number)); ok && whole && err == nil {
		f.pid = pid
		return rest
	}
	return nil // the engine's words about a shell that is not there
}

func (f *firstLine) process() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pid
}

// flush ends the output.
func (f *firstLine) flush() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done, f.head = true, nil
}
