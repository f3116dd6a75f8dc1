package docker

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// oomScript prints how many processes of the container were killed for want of
// memory, from the files of either version of control groups, with a shell's own
// words only.
const oomScript = `for f in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
	[ -r "$f" ] && while read -r k v; do [ "$k" = oom_kill ] && echo "$v"; done <"$f"; done; :`

// oomCounts remembers how many kills of a container are accounted for already.
type oomCounts struct {
	mu    sync.Mutex
	count map[string]int
}

// raise notes a new count and says whether it is above the last.
func (o *oomCounts) raise(name string, n int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n <= o.count[name] {
		return false
	}
	if o.count == nil {
		o.count = map[string]int{}
	}
	o.count[name] = n
	return true
}

func (o *oomCounts) forget(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.count, name)
}

// OutOfMemory says whether a process of a running container was killed for want of
// memory since it was last asked. An engine's own flag for that is set only once
// the container has ended, and its event goes by whoever does not listen.
func (e *Engine) OutOfMemory(ctx context.Context, name, shell string) bool {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var text bytes.Buffer
	_, err := e.Exec(ctx, name, topology.ExecSpec{Argv: []string{shell, "-c", oomScript}, User: "0"}, func(s topology.Stream, data []byte) {
		if s == topology.Stdout && text.Len() < 1024 {
			text.Write(data)
		}
	})
	n, parseErr := strconv.Atoi(strings.TrimSpace(text.String()))
	return err == nil && parseErr == nil && e.ooms.raise(name, n)
}

// oomKilled says whether the engine blames an exit on memory. It may learn so a
// moment after the exit, hence the patience with code 137 under a limit.
func (e *Engine) oomKilled(ctx context.Context, name string, code int) bool {
	const tries, pause = 5, 50 * time.Millisecond
	for try := range tries {
		state, err := e.client.ContainerInspect(ctx, name)
		if err != nil || state.State == nil {
			return false
		}
		limited := state.HostConfig != nil && state.HostConfig.Memory > 0
		if state.State.OOMKilled || code != 137 || !limited || try == tries-1 {
			return state.State.OOMKilled
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return false
		}
	}
	return false
}
