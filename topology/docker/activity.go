package docker

import (
	"sync/atomic"

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
