package host

import (
	"context"
	"path/filepath"
	"strconv"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// memoryEvery is how often memory is measured where no control group bounds it.
const memoryEvery = 200 * time.Millisecond

// watchMemory kills a container whose processes have more memory together than its limit. Pages that processes
// share count for each of them.
func (c *container) watchMemory(main *command) {
	tick := time.NewTicker(memoryEvery)
	defer tick.Stop()
	for {
		select {
		case <-main.done:
			return
		case <-tick.C:
		}
		var sum int64
		for _, pid := range c.pids() {
			sum += readWord(filepath.Join("/proc", strconv.Itoa(pid)), "status", "RssAnon:") << 10
		}
		c.mu.Lock()
		c.note(topology.Usage{MemoryPeak: sum})
		over := sum > c.spec.Resources.Memory
		if over {
			c.oomOurs++
		}
		c.mu.Unlock()
		if over {
			main.kill()
			return
		}
	}
}

// killedForMemory says whether a process was killed for want of memory since it was last asked; c.mu is held.
func (c *container) killedForMemory() bool {
	n := c.group.oomKills() + c.oomOurs
	more := n > c.oomSeen
	c.oomSeen = n
	return more
}

// OutOfMemory says whether a process was killed for want of memory since it was last asked.
func (e *Engine) OutOfMemory(ctx context.Context, name, _ string) bool {
	c, err := e.find(ctx, "look for memory", name)
	if err != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.killedForMemory()
}

// Usage is what a container has consumed so far, or has when it has ended.
func (e *Engine) Usage(ctx context.Context, name string) (topology.Usage, error) {
	op := "read the usage of " + name
	c, err := e.find(ctx, op, name)
	if err != nil {
		return topology.Usage{}, err
	}
	c.mu.Lock()
	main := c.main
	c.mu.Unlock()
	if main == nil {
		return topology.Usage{}, faultf(topology.KindNotRunning, op, "it was not started")
	}
	if !main.ended() {
		c.measure(main)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.usage, nil
}

// measure notes what a running container has consumed.
func (c *container) measure(main *command) {
	u := c.group.used()
	if !c.group.accounts() || !c.group.has(ctlMemory) {
		var cpu time.Duration
		var rss int64
		all := processes()
		for _, pid := range append(c.pids(), main.supervisor) { // its children's time counts as its own
			cpu += all[pid].cpu
			if pid != main.supervisor {
				rss += all[pid].rss
			}
		}
		if !c.group.accounts() {
			u.CPU = cpu
		}
		if !c.group.has(ctlMemory) {
			u.MemoryPeak = rss
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note(u)
}

// note keeps the highest figures; c.mu is held.
func (c *container) note(u topology.Usage) {
	c.usage.CPU = max(c.usage.CPU, u.CPU)
	c.usage.MemoryPeak = max(c.usage.MemoryPeak, u.MemoryPeak)
}
