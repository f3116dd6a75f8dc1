//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// What programs write once they are up.
const (
	upHub      = "runnerhub listening on"
	upRunner   = "runner started"
	upSaboteur = "saboteur started"
)

// process is a program that is started, killed and frozen again and again. Its methods are safe for concurrent use,
// but a fault has it for itself.
type process struct {
	w       *world
	name    string
	up      string // what it writes once it handles signals
	command func() *exec.Cmd
	log     *os.File

	mu    sync.Mutex
	cmd   *exec.Cmd
	ended chan struct{} // closed once cmd has ended
	asked bool          // its end was asked for
	begin int64         // where its log began
}

// newProcess prepares a program. What it says is appended to NAME.log.
func newProcess(w *world, name, up string, command func() *exec.Cmd) *process {
	w.Helper()
	log, err := os.OpenFile(w.path(name+".log"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		w.Fatal(err)
	}
	p := &process{w: w, name: name, up: up, command: command, log: log}
	w.Cleanup(func() {
		p.kill()
		log.Close()
	})
	return p
}

// start starts the program unless it runs.
func (p *process) start() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		return
	}
	p.asked = false
	if at, err := p.log.Seek(0, 2); err == nil {
		p.begin = at
	}
	cmd := p.command()
	cmd.Stdout, cmd.Stderr = p.log, p.log
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true // a terminal's ^C is ours alone
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	if err := onStarter(cmd.Start); err != nil {
		p.w.Errorf("start %s: %v", p.name, err)
		return
	}
	ended := make(chan struct{})
	p.cmd, p.ended = cmd, ended
	go func() { // ends with the program
		err := cmd.Wait()
		p.mu.Lock()
		asked := p.asked
		p.cmd = nil
		p.mu.Unlock()
		close(ended)
		if !asked {
			p.surprise(err)
		}
	}()
}

// surprise is an end that nobody asked for. A hub that cannot reach its store when it starts ends, and whoever
// supervises it starts it again; a program that was up must not end by itself.
func (p *process) surprise(err error) {
	if p.said(p.up) || !strings.HasPrefix(p.name, "hub") {
		p.w.breach("no process ends by itself", "", fmt.Sprintf("%s ended with: %v", p.name, err))
	}
	p.w.journal.note("%s ended by itself: %v", p.name, err)
	time.AfterFunc(300*time.Millisecond, p.start)
}

// kill is kill -9.
func (p *process) kill() {
	p.mu.Lock()
	cmd, ended := p.cmd, p.ended
	p.asked = true
	p.mu.Unlock()
	if cmd == nil {
		return
	}
	_ = cmd.Process.Kill() // an error says that it has ended
	<-ended
}

// signal sends a signal; SIGTERM and the like count as asking for the end.
func (p *process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return
	}
	if s != syscall.SIGSTOP && s != syscall.SIGCONT {
		p.asked = true
	}
	_ = p.cmd.Process.Signal(s) // an error says that it has ended
}

// terminate asks the program to end and waits. It is an error if it takes longer than within, and is killed then, or
// if its exit code is not 0.
func (p *process) terminate(ctx context.Context, within time.Duration) error {
	p.mu.Lock()
	cmd, ended := p.cmd, p.ended
	p.mu.Unlock()
	if cmd == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for !p.said(p.up) && wait(ctx, 20*time.Millisecond) { // before that, the signal would kill it
		continue
	}
	p.signal(syscall.SIGTERM)
	select {
	case <-ended:
	case <-ctx.Done():
		p.signal(syscall.SIGQUIT) // a Go program tells what it was busy with
		select {
		case <-ended:
		case <-time.After(2 * time.Second):
			p.kill()
		}
		return fmt.Errorf("it had not ended after %s", within)
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("it ended with exit code %d", code)
	}
	return nil
}

// said tells whether the program has written text since it was started.
func (p *process) said(text string) bool {
	p.mu.Lock()
	from := p.begin
	p.mu.Unlock()
	b, err := os.ReadFile(p.log.Name())
	return err == nil && int64(len(b)) >= from && bytes.Contains(b[from:], []byte(text))
}

// starter is the thread that starts all processes: the system kills them when it ends, which is with this process.
var starter = sync.OnceValue(func() chan func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

func onStarter(f func() error) error {
	done := make(chan error, 1)
	starter() <- func() { done <- f() }
	return <-done
}
