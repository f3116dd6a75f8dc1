package attempt

import (
	"context"
	"fmt"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// pulses is how many pings in a row must fail before an engine counts as gone.
const pulses = 3

// watchEngine pings the engine while the attempt lives. A connection to an engine
// that has frozen stays open and silent for ever; only asking tells.
func (x *execution) watchEngine() {
	every := x.e.opts.Patience / pulses
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for missed := 0; ; {
		select {
		case <-x.live.Done():
			return
		case <-ticker.C:
		}
		ctx, cancel := context.WithTimeout(x.live, every)
		err := x.e.engine.Ping(ctx)
		cancel()
		if err == nil {
			missed = 0
			continue
		}
		if missed++; missed < pulses {
			continue
		}
		gone := &failureError{topology.Failure{
			Class:   topology.ClassDockerUnavailable,
			Message: fmt.Sprintf("The Docker engine has not answered for %s.", x.e.opts.Patience),
			Hint:    "Check the engine on the runner's machine: docker version. What it still runs is removed when the runner next reaches it.",
		}}
		x.stop(gone)
		x.sever(gone)
		return
	}
}
