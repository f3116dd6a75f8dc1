package cmd_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/runnerhub/runnerhub/hub/server"
	"github.com/runnerhub/runnerhub/runnerctl"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"runnerhub": func() { os.Exit(server.Main()) },
		"runnerctl": func() { os.Exit(runnerctl.Main()) },
	})
}

// TestScripts runs the two programs as people do: a real hub, real Docker, real files. Each script has
// homes and hubs of its own.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			for name, dir := range map[string]string{"HOME": "home", "XDG_CONFIG_HOME": "home/config", "XDG_STATE_HOME": "home/state", "XDG_DATA_HOME": "home/data"} {
				path := filepath.Join(e.WorkDir, dir)
				if err := os.MkdirAll(path, 0o700); err != nil {
					return err
				}
				e.Setenv(name, path)
			}
			// No session bus: these scripts keep their tokens in files. The keyring's own test has a real one.
			e.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path="+filepath.Join(e.WorkDir, "no-bus"))
			for _, name := range []string{"DOCKER_HOST", "RUNNERHUB_TEST_POSTGRES_URL"} {
				e.Setenv(name, os.Getenv(name))
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"hub":    startHub,
			"runner": startRunner,
			"stop":   stop,
			"kill9":  kill9,
			"await":  await,
			"keep":   keep,
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// process is a program that a script left running.
type process struct {
	cmd    *exec.Cmd
	stderr *lockedBuffer
	exited chan struct{}
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

// processes are those of one script by name.
type processes struct{ by map[string]*process }

var running sync.Map // *testscript.TestScript → *processes

func of(ts *testscript.TestScript) *processes {
	p, _ := running.LoadOrStore(ts, &processes{by: map[string]*process{}})
	return p.(*processes)
}

// launch starts a program and returns its standard output.
func launch(ts *testscript.TestScript, name, program string, args ...string) io.Reader {
	cmd := exec.CommandContext(context.Background(), program, args...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = environ(ts)
	p := &process{cmd: cmd, stderr: &lockedBuffer{}, exited: make(chan struct{})}
	cmd.Stderr = p.stderr
	r, w := io.Pipe()
	cmd.Stdout = w
	ts.Check(cmd.Start())
	go func() {
		_ = cmd.Wait() // its exit code is looked at by stop
		w.Close()
		close(p.exited)
	}()
	of(ts).by[name] = p
	ts.Defer(func() {
		_ = cmd.Process.Kill()
		<-p.exited
		ts.Logf("[stderr of %s]\n%s", name, p.stderr)
	})
	return r
}

func environ(ts *testscript.TestScript) []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "DBUS_SESSION_BUS_ADDRESS",
		"DOCKER_HOST", "RUNNERCTL_PROFILE", "RUNNERCTL_HUB", "RUNNERCTL_API_KEY", "TESTSCRIPT_COMMAND", "GOCOVERDIR"} {
		if v := ts.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

var listening = regexp.MustCompile(`^runnerhub listening on (https?://\S+)$`)

// startHub: `hub [NAME] [-- flags]` starts a hub and sets $HUB, and $ADMIN_KEY from its data folder $WORK/NAME.
func startHub(ts *testscript.TestScript, neg bool, args []string) {
	name, flags := "hub", []string(nil)
	if len(args) > 0 && args[0] != "--" {
		name, args = args[0], args[1:]
	}
	if len(args) > 0 {
		flags = args[1:]
	}
	addr := "127.0.0.1:0"
	if old := ts.Getenv("ADDR_" + name); old != "" {
		addr = old // a restart answers at the same place
	}
	out := launch(ts, name, "runnerhub", append([]string{"serve", "--addr", addr, "--data", ts.MkAbs(name)}, flags...)...)
	url := make(chan string, 1)
	go func() {
		defer close(url)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if m := listening.FindStringSubmatch(lines.Text()); m != nil {
				url <- m[1]
			}
		}
	}()
	select {
	case u, ok := <-url:
		if neg != !ok {
			ts.Fatalf("hub started: %v; its stderr:\n%s", ok, of(ts).by[name].stderr)
		}
		if !ok {
			return
		}
		ts.Setenv("HUB", u)
		ts.Setenv("ADDR_"+name, strings.TrimPrefix(u, "http://"))
		key, err := os.ReadFile(ts.MkAbs(name + "/admin.key"))
		ts.Check(err)
		ts.Setenv("ADMIN_KEY", strings.TrimSpace(string(key)))
	case <-time.After(30 * time.Second):
		ts.Fatalf("the hub did not come up; its stderr:\n%s", of(ts).by[name].stderr)
	}
}

// startRunner: `runner NAME [flags]` starts `runnerctl run` in the background.
func startRunner(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: runner NAME [flags]")
	}
	out := launch(ts, args[0], "runnerctl", append([]string{"run"}, args[1:]...)...)
	go io.Copy(io.Discard, out) //nolint:errcheck // until it ends
}

// stop: `stop NAME` asks a program to drain and wants exit code 0; `! stop NAME` wants another one.
func stop(ts *testscript.TestScript, neg bool, args []string) {
	p := of(ts).by[args[0]]
	ts.Check(p.cmd.Process.Signal(os.Interrupt))
	select {
	case <-p.exited:
	case <-time.After(60 * time.Second):
		ts.Fatalf("%s did not stop; its stderr:\n%s", args[0], p.stderr)
	}
	if ok := p.cmd.ProcessState.Success(); ok == neg {
		ts.Fatalf("%s ended with %v; its stderr:\n%s", args[0], p.cmd.ProcessState, p.stderr)
	}
}

// kill9: `kill9 NAME` kills a program without a warning.
func kill9(ts *testscript.TestScript, _ bool, args []string) {
	p := of(ts).by[args[0]]
	ts.Check(p.cmd.Process.Kill())
	<-p.exited
}

// await: `await REGEXP program args…` runs a command again and again until its output matches.
func await(ts *testscript.TestScript, _ bool, args []string) {
	want := regexp.MustCompile(args[0])
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(60 * time.Second)
	for {
		cmd := exec.CommandContext(context.Background(), args[1], args[2:]...)
		cmd.Dir, cmd.Env = ts.MkAbs("."), environ(ts)
		out, _ := cmd.CombinedOutput() // its exit code does not matter, its words do
		if want.Match(out) {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			ts.Fatalf("%q never matched; the last output:\n%s", args[0], out)
		}
	}
}

// keep: `keep NAME` puts the last standard output, trimmed, into $NAME.
func keep(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}
