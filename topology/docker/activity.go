package docker

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// activity tells a stream that nothing comes from any more from one whose
// receiver is slow: only the first may be given up.
type activity struct {
	busy   atomic.Bool
	pieces atomic.Int64
	last   int64 // pieces at the last look
}

// watch returns out with its calls noted.
func (a *activity) watch(out topology.Output) topology.Output {
	if out == nil {
		return nil
	}
	return func(stream topology.Stream, data []byte) {
		a.busy.Store(true)
		out(stream, data)
		a.pieces.Add(1)
		a.busy.Store(false)
	}
}

// idle says whether nothing has come since the last look. It is for one goroutine.
func (a *activity) idle() bool {
	pieces := a.pieces.Load()
	moved := pieces != a.last || a.busy.Load()
	a.last = pieces
	return !moved
}

// earlyEnd is how long a process may go on after its output has ended before the log says so.
const earlyEnd = 2 * time.Second

// noteEarlyEnd says in the log that output may be missing. A process may close its output and go on, and a
// connection to the engine may break off without an error; the two look the same, and neither may pass in silence. ended is when the
// output ended, zero if not before the process.
func noteEarlyEnd(out topology.Output, ended time.Time) {
	if out == nil || ended.IsZero() {
		return
	}
	if after := time.Since(ended); after >= earlyEnd {
		out(topology.System, fmt.Appendf(nil, "The output ended %s before the process did. What it wrote after that, if anything, is not in this log.\n",
			after.Round(time.Second)))
	}
}
