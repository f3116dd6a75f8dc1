package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/storetest"
)

// The test binary runs itself as another hub, which can be killed.
const (
	childTask = "RUNNERHUB_SQLITE_TEST_TASK"
	childPath = "RUNNERHUB_SQLITE_TEST_PATH"

	taskHold    = "hold"    // open the store, say so, keep it
	taskEnqueue = "enqueue" // and enqueue for ever, with a line for each job that was answered
	taskLimit   = "limit"   // the same on a disk that is nearly full, until it fails
)

func runChild(task, path string) int {
	if task == taskLimit {
		if err := limitFileSize(1 << 20); err != nil {
			fmt.Println("error", err)
			return 1
		}
	}
	ctx := context.Background()
	s, err := Open(ctx, path, Options{})
	if err != nil {
		fmt.Println("error", hub.CodeOf(err), err)
		return 1
	}
	fmt.Println("open")
	for task != taskHold {
		p := storetest.NewJob("user:child", "")
		p.Payload.Spec = make([]byte, 3000)
		if _, _, err := s.Enqueue(ctx, p); err != nil {
			fmt.Println("error", hub.CodeOf(err), err)
			return 1
		}
		fmt.Println(p.Job.ID)
	}
	select {} // until it is killed
}

// child is another process that has the store open.
type child struct {
	*testing.T
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func startChild(t *testing.T, task, path string) *child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childTask+"="+task, childPath+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{T: t, cmd: cmd, lines: bufio.NewScanner(out)}
	t.Cleanup(c.kill)
	if line := c.line(); line != "open" {
		t.Fatalf("the other process says %q", line)
	}
	return c
}

// line is the next that the child says, "" once it is gone.
func (c *child) line() string {
	if !c.lines.Scan() {
		return ""
	}
	return c.lines.Text()
}

// kill ends the child as kill -9 does, and waits for its end.
func (c *child) kill() {
	if c.cmd.ProcessState != nil {
		return
	}
	if err := c.cmd.Process.Kill(); err != nil && c.cmd.ProcessState == nil {
		c.Logf("kill: %v", err)
	}
	_ = c.cmd.Wait() // it was killed, which is no success
}

// rest is what the child had said and nobody read, until it is gone.
func (c *child) rest() []string {
	var out []string
	for line := c.line(); line != ""; line = c.line() {
		out = append(out, line)
	}
	return out
}
