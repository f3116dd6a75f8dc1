package topologytest

import (
	"bytes"
	"context"
	"fmt"
	"strconv"

	"github.com/runnerhub/runnerhub/topology"
)

// stepsProgram does what the shell of a job container with steps does: args are
// the mark of the container's and the steps' scripts.
func (f *Fake) stepsProgram(c *fakeContainer, args []string) Program {
	f.mu.Lock()
	own := f.programs[topology.StepsName]
	f.mu.Unlock()
	if own != nil {
		return own
	}
	mark, scripts := args[0], args[1:]
	return func(p *FakeProcess) int {
		tell := func(words string) {
			_, _ = fmt.Fprintf(p.Stdout, "%s%s\n", mark, words)
			_, _ = fmt.Fprintf(p.Stderr, "%s%s\n", mark, words)
		}
		for n := 0; ; {
			var line []byte
			select {
			case line = <-p.Stdin:
			case <-p.Killed:
				return 137
			}
			want, err := strconv.Atoi(string(bytes.TrimSpace(line)))
			if err != nil || want <= n {
				continue
			}
			n = want
			tell(fmt.Sprintf("b %d", n))
			code := f.runStep(c, p, scripts[n-1])
			tell(fmt.Sprintf("e %d %d", n, code))
		}
	}
}

// runStep runs one step's program as a process beside the main one.
func (f *Fake) runStep(c *fakeContainer, main *FakeProcess, script string) int {
	program := f.program([]string{script})
	if program == nil {
		program = func(*FakeProcess) int { return 127 }
	}
	c.mu.Lock()
	step := c.spawn(topology.ExecSpec{Argv: []string{script}, Env: main.Env}, program, c.log.write)
	c.execs[step] = true
	c.mu.Unlock()
	select {
	case <-step.done:
	case <-main.Killed:
		step.kill()
		<-step.done
	}
	c.mu.Lock()
	delete(c.execs, step)
	c.oom = c.oom || step.OOM
	c.mu.Unlock()
	return step.exit.Code
}

// OutOfMemory says whether a step ended so since it was last asked.
func (f *Fake) OutOfMemory(ctx context.Context, name, _ string) bool {
	if f.enter(ctx, "OutOfMemory", name) != nil {
		return false
	}
	c, err := f.container("look for want of memory", name)
	if err != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.oom
	c.oom = false
	return was
}
