package cmd_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// patience bounds every wait of a script. It is for a machine that does much else.
const patience = 3 * time.Minute

// processes is the key of a script's programs by name.
type processes struct{}

// process is a program that a script left running.
type process struct {
	cmd            *exec.Cmd
	stdout, stderr lockedBuffer
	exited         chan struct{}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func programs(ts *testscript.TestScript) map[string]*process {
	return ts.Value(processes{}).(map[string]*process)
}

// named is a program that the script has started under that name.
func named(ts *testscript.TestScript, name string) *process {
	p := programs(ts)[name]
	if p == nil {
		ts.Fatalf("no program %s was started", name)
	}
	return p
}

// launch starts a program, which ends with the script.
func launch(ts *testscript.TestScript, name, program string, args ...string) *process {
	p := &process{exited: make(chan struct{})}
	p.cmd = command(ts, program, args...)
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	ts.Check(p.cmd.Start())
	go func() {
		_ = p.cmd.Wait() // its exit code is looked at by ends
		close(p.exited)
	}()
	programs(ts)[name] = p
	ts.Defer(func() {
		p.end()
		ts.Logf("[stdout of %s]\n%s[stderr of %s]\n%s", name, &p.stdout, name, &p.stderr)
	})
	return p
}

// end ends a program that the script has not: as a person does who is in a hurry, so that a runner takes its containers and
// networks down.
func (p *process) end() {
	for range 2 {
		_ = p.cmd.Process.Signal(os.Interrupt) // an error says that it has ended
	}
	select {
	case <-p.exited:
	case <-time.After(30 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.exited
	}
}

// command is a program in the script's folder and environment.
func command(ts *testscript.TestScript, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.Background(), program, args...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST",
		"RUNNERCTL_PROFILE", "RUNNERCTL_HUB", "RUNNERCTL_API_KEY", "TESTSCRIPT_COMMAND", "GOCOVERDIR"} {
		if v := ts.Getenv(name); v != "" {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	return cmd
}

// awaitText waits until one of the streams matches, and returns the groups. It gives up when the program has ended.
func (p *process) awaitText(ts *testscript.TestScript, want *regexp.Regexp) []string {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for ended := false; ; {
		for _, text := range []string{p.stdout.String(), p.stderr.String()} {
			if m := want.FindStringSubmatch(text); m != nil {
				return m
			}
		}
		if ended {
			return nil
		}
		select {
		case <-tick.C:
		case <-p.exited:
			ended = true // one last look
		case <-deadline:
			ts.Fatalf("%q was never written; standard output:\n%s\nstandard error:\n%s", want, &p.stdout, &p.stderr)
		}
	}
}

// awaitEnd returns the exit code.
func (p *process) awaitEnd(ts *testscript.TestScript) int {
	select {
	case <-p.exited:
	case <-time.After(patience):
		ts.Fatalf("the program did not end; its stderr:\n%s", &p.stderr)
	}
	return p.cmd.ProcessState.ExitCode()
}

// background: `background NAME program args…` starts a program and leaves it running.
func background(ts *testscript.TestScript, _ bool, args []string) {
	launch(ts, args[0], args[1], args[2:]...)
}

// sees: `sees NAME REGEXP [VAR]` waits until a program has written that, and puts the first group into $VAR.
func sees(ts *testscript.TestScript, _ bool, args []string) {
	p := named(ts, args[0])
	m := p.awaitText(ts, regexp.MustCompile(args[1]))
	if m == nil {
		ts.Fatalf("%s ended before it wrote %q; its stderr:\n%s", args[0], args[1], &p.stderr)
	}
	if len(args) > 2 {
		ts.Setenv(args[2], m[1])
	}
}

// signal: `signal NAME INT|TERM` sends a signal to a program.
func signal(ts *testscript.TestScript, _ bool, args []string) {
	sig := map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM}[args[1]]
	ts.Check(named(ts, args[0]).cmd.Process.Signal(sig))
}

// ends: `ends NAME CODE` waits for the end of a program, with that exit code.
func ends(ts *testscript.TestScript, _ bool, args []string) {
	p := named(ts, args[0])
	if code := p.awaitEnd(ts); strconv.Itoa(code) != args[1] {
		ts.Fatalf("%s ended with %d, want %s; its stderr:\n%s", args[0], code, args[1], &p.stderr)
	}
}

// stop: `stop NAME` asks a program to drain and wants exit code 0.
func stop(ts *testscript.TestScript, _ bool, args []string) {
	signal(ts, false, []string{args[0], "TERM"})
	ends(ts, false, []string{args[0], "0"})
}

// kill9: `kill9 NAME` kills a program without a warning.
func kill9(ts *testscript.TestScript, _ bool, args []string) {
	p := named(ts, args[0])
	ts.Check(p.cmd.Process.Kill())
	<-p.exited
}
