package attempt

import (
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// A command's container is gone, and its accounts with it, the moment that it
// ends. It is therefore asked while it runs: the figures of a command are those
// of up to sampleEvery before its end, and none for one that takes less than
// firstSample. Those of steps are read at their end and exact.
const (
	firstSample = time.Second
	sampleEvery = 5 * time.Second
)

// sampleUsage reads the usage from time to time while the attempt lives.
func (x *execution) sampleUsage() {
	timer := time.NewTimer(firstSample)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			x.readUsage()
			timer.Reset(sampleEvery)
		case <-x.live.Done():
			return
		}
	}
}

// readUsage notes what the job container has used so far.
func (x *execution) readUsage() {
	now, err := x.e.engine.Usage(x.live, x.names.Job)
	if err != nil {
		return // it has just ended, or the engine does not tell
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.usage = topology.Usage{CPU: max(x.usage.CPU, now.CPU), MemoryPeak: max(x.usage.MemoryPeak, now.MemoryPeak)}
}
