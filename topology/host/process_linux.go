package host

import (
	"context"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/runnerhub/runnerhub/topology"
)

// Start runs a container's command.
func (e *Engine) Start(ctx context.Context, name string, out topology.Output) (topology.Process, error) {
	op := "start " + name
	c, err := e.find(ctx, op, name)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.main != nil {
		return nil, faultf(topology.KindInvalid, op, "it was started already")
	}
	argv := slices.Concat(c.spec.Entrypoint, c.spec.Command)
	if len(argv) == 0 {
		return nil, faultf(topology.KindInvalid, op, "there is no command")
	}
	c.record.Started = true // before it is: a job that may have begun is not begun again
	if err := c.save(); err != nil {
		return nil, fault(op, err)
	}
	x, err := c.run(topology.ExecSpec{Argv: argv, WorkingDir: c.spec.WorkingDir}, true, out)
	if err != nil {
		return nil, err
	}
	c.main = x
	c.commands[x] = true
	if c.spec.Resources.Memory > 0 && !c.group.has(ctlMemory) {
		go c.watchMemory(x)
	}
	return x, nil
}

// Attach is refused: who listens to a job is who started it, and it ends with them.
func (e *Engine) Attach(_ context.Context, name string, _ topology.Offsets, _ topology.Output) (topology.Process, error) {
	op := "take up " + name
	r, err := e.readRecord(name)
	if err != nil {
		return nil, fault(op, err)
	}
	if !r.Started {
		return nil, faultf(topology.KindNotRunning, op, "it was never started")
	}
	return nil, faultf(topology.KindInvalid, op, "a job without an image ends with the runner that runs it")
}

// Exec runs a further command in a container.
func (e *Engine) Exec(ctx context.Context, name string, spec topology.ExecSpec, out topology.Output) (topology.Exit, error) {
	op := "run a command in " + name
	c, err := e.find(ctx, op, name)
	if err != nil {
		return topology.Exit{}, err
	}
	if _, err := c.mainCommand(op); err != nil {
		return topology.Exit{}, err
	}
	if spec.WorkingDir == "" {
		spec.WorkingDir = c.spec.WorkingDir
	}
	if spec.User != "" && spec.User != "0" && spec.User != c.user.Name { // who asks for the superuser gets the job's user
		return topology.Exit{}, faultf(topology.KindInvalid, op, "a job without an image has one user, %s", c.user.Name)
	}
	c.mu.Lock()
	x, err := c.run(spec, false, out)
	if err == nil {
		c.commands[x] = true
	}
	c.mu.Unlock()
	if err != nil {
		return topology.Exit{}, err
	}
	exit, err := x.Wait(ctx)
	if err != nil {
		x.Close()
	}
	return exit, fault(op, err)
}

// left notes that a command has ended. With the main one everything in the container ends.
func (c *container) left(x *command, end news) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.commands, x)
	c.unsure = c.unsure || end.Undying > 0
	if end.Code != 0 {
		x.exit.OOM = c.killedForMemory()
	}
	if x != c.main {
		return
	}
	u := c.group.used()
	if !c.group.accounts() {
		u.CPU = end.CPU
	}
	if !c.group.has(ctlMemory) {
		u.MemoryPeak = end.MaxRSS
	}
	c.note(u)
	for other := range c.commands {
		other.kill()
	}
}

// Signal sends a signal to the process group of a container's command, as a terminal would. SIGKILL
// ends all that came of it.
func (e *Engine) Signal(ctx context.Context, name, signal string) error {
	op := "send " + signal + " to " + name
	c, err := e.find(ctx, op, name)
	if err != nil {
		return err
	}
	main, err := c.mainCommand(op)
	if err != nil {
		return err
	}
	if signal == "SIGKILL" {
		main.kill()
		return nil
	}
	number := unix.SignalNum(signal)
	if number == 0 {
		return faultf(topology.KindInvalid, op, "there is no such signal")
	}
	if err := syscall.Kill(-main.pid, number); err != nil {
		return faultf(topology.KindNotRunning, op, "%w", err)
	}
	return nil
}

// SignalAll sends a signal to every process of a container but that of its command.
func (e *Engine) SignalAll(ctx context.Context, name, _, signal string) error {
	op := "send " + signal + " to the processes of " + name
	c, err := e.find(ctx, op, name)
	if err != nil {
		return err
	}
	main, err := c.mainCommand(op)
	if err != nil {
		return err
	}
	number := unix.SignalNum(signal)
	if number == 0 {
		return faultf(topology.KindInvalid, op, "there is no such signal")
	}
	for _, pid := range c.pids() {
		if pid != main.pid {
			_ = syscall.Kill(pid, number) // an error says that it has just ended
		}
	}
	return nil
}

// pids lists the container's processes.
func (c *container) pids() []int {
	found := pidsOf(c.group.dirs())
	c.mu.Lock()
	defer c.mu.Unlock()
	for x := range c.commands {
		found = append(found, descendants(x.supervisor)...)
	}
	slices.Sort(found)
	return slices.Compact(found)
}
