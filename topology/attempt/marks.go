package attempt

import (
	"sync"

	"github.com/runnerhub/runnerhub/topology"
)

// stepMarks tell when steps have ended: when both streams of the job container say
// so, all that the step wrote has come. Its zero value is ready.
type stepMarks struct {
	mu   sync.Mutex
	ends map[int]*stepEnd
}

// stepEnd is the end of one step.
type stepEnd struct {
	seen map[topology.Stream]bool
	code int           // set before done is closed
	done chan struct{} // closed at the end
}

// end returns the end of step n, counted from 1, which may not have come yet.
func (m *stepMarks) end(n int) *stepEnd {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ends == nil {
		m.ends = map[int]*stepEnd{}
	}
	if m.ends[n] == nil {
		m.ends[n] = &stepEnd{seen: map[topology.Stream]bool{}, done: make(chan struct{})}
	}
	return m.ends[n]
}

// ended is told what a stream says.
func (m *stepMarks) ended(s topology.Stream, n, code int) {
	end := m.end(n)
	m.mu.Lock()
	defer m.mu.Unlock()
	if end.seen[s] {
		return
	}
	if end.seen[s], end.code = true, code; len(end.seen) == 2 {
		close(end.done)
	}
}
