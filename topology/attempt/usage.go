package attempt

import "time"

// A container is gone, and its accounts with it, the moment that it ends. It is
// therefore asked while it runs, often at first and then less: the figures of a command
// are those of up to sampleEvery before its end, and none for one that takes less than
// firstSample. Those of steps are read at their end too, and exact.
const (
	firstSample = 250 * time.Millisecond
	sampleEvery = 5 * time.Second
)

// sampleUsage reads the usage from time to time while the attempt lives.
func (x *execution) sampleUsage() {
	pause := firstSample
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			x.readUsage()
			pause = min(2*pause, sampleEvery)
			timer.Reset(pause)
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
	x.usage.CPU = max(x.usage.CPU, now.CPU)
	x.usage.MemoryPeak = max(x.usage.MemoryPeak, now.MemoryPeak)
}
