package topologytest

import (
	"bytes"
	"sync"

	"github.com/runnerhub/runnerhub/topology"
)

// fakeLog is the output of a container's main process: all of it is kept, and
// passed on to who listens.
type fakeLog struct {
	mu        sync.Mutex
	pieces    []fakePiece
	listeners []*fakeListener
}

type fakePiece struct {
	stream topology.Stream
	data   []byte
}

type fakeListener struct{ out topology.Output }

func (l *fakeLog) write(stream topology.Stream, data []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pieces = append(l.pieces, fakePiece{stream, bytes.Clone(data)})
	for _, to := range l.listeners {
		to.out(stream, data)
	}
}

// listen passes on what was written from the places in from on.
func (l *fakeLog) listen(from topology.Offsets, out topology.Output) *fakeListener {
	to := &fakeListener{out}
	if out == nil {
		return to
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.pieces {
		skip := &from.Of(p.stream).Bytes
		n := min(*skip, int64(len(p.data)))
		*skip -= n
		if data := p.data[n:]; len(data) > 0 {
			out(p.stream, data)
		}
	}
	l.listeners = append(l.listeners, to)
	return to
}

func (l *fakeLog) leave(to *fakeListener) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, at := range l.listeners {
		if at == to {
			l.listeners = append(l.listeners[:i:i], l.listeners[i+1:]...)
			return
		}
	}
}
