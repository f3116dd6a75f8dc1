package agent

import (
	"sync"
	"time"
	"unicode/utf8"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/topology"
)

// Bytes of output that may wait for the hub before a command is slowed down, and how long the first of them waits for more.
const (
	senderBacklog = 1 << 20
	senderLinger  = 50 * time.Millisecond
)

// sender brings a request's output to the hub: both streams in order, at most the order's limit together. What is over
// that is dropped, and the command is not held up by it.
type sender struct {
	v *visit

	mu      sync.Mutex
	changed *sync.Cond
	streams map[topology.Stream]*outgoing
	taken   int64
	cut     bool // something was dropped
	dead    bool // the hub takes no more
	closed  bool
	done    sync.WaitGroup
}

// outgoing is one stream.
type outgoing struct {
	name string
	data []byte
}

func newSender(v *visit) *sender {
	s := &sender{v: v, streams: map[topology.Stream]*outgoing{
		topology.Stdout: {name: "stdout"}, topology.Stderr: {name: "stderr"},
	}}
	s.changed = sync.NewCond(&s.mu)
	for _, o := range s.streams {
		s.done.Go(func() { s.send(o) })
	}
	return s
}

// write takes output. It blocks while too much of it waits.
func (s *sender) write(stream topology.Stream, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.streams[stream]
	for len(o.data) >= senderBacklog && !s.dead {
		s.changed.Wait()
	}
	room := max(0, s.v.order.OutputLimit-s.taken)
	if int64(len(data)) > room {
		data, s.cut = data[:room], true
	}
	if s.dead || len(data) == 0 {
		return
	}
	s.taken += int64(len(data))
	o.data = append(o.data, data...)
	s.changed.Broadcast()
}

// close waits until the hub has everything, or takes no more.
func (s *sender) close() {
	s.mu.Lock()
	s.closed = true
	s.changed.Broadcast()
	s.mu.Unlock()
	s.done.Wait()
}

func (s *sender) truncated() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cut || s.dead
}

// send sends one stream, chunk by chunk. A chunk is repeated as it is until the hub has it.
func (s *sender) send(o *outgoing) {
	for offset := int64(0); ; {
		data := s.next(o)
		if len(data) == 0 {
			return
		}
		err := s.v.insist(func() error {
			_, err := s.v.d.hub.PutExecOutput(s.v.d.word, s.v.d.logURL, s.v.order.ExecID, o.name, offset, data)
			return err
		})
		s.mu.Lock()
		if err != nil {
			s.dead = true
			s.v.d.logger.Debug("the hub takes no more of an output", "exec", s.v.order.ExecID, "err", err)
		}
		o.data = o.data[len(data):]
		s.changed.Broadcast()
		s.mu.Unlock()
		if err != nil {
			return
		}
		offset += int64(len(data))
	}
}

// next waits for a chunk's worth, or a moment for less; nothing at the end.
func (s *sender) next(o *outgoing) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(o.data) == 0 && !s.closed && !s.dead {
		s.changed.Wait()
	}
	if len(o.data) < mcp.MaxExecChunk && !s.closed {
		s.mu.Unlock()
		sleep(s.v.d.word, senderLinger)
		s.mu.Lock()
	}
	if s.dead {
		return nil
	}
	n := min(len(o.data), mcp.MaxExecChunk)
	return o.data[:whole(o.data[:n], s.closed && n == len(o.data))]
}

// whole is how much of data ends between two characters, all of it at the end of an output or where it is no text.
func whole(data []byte, last bool) int {
	if last {
		return len(data)
	}
	for back := 1; back < utf8.UTFMax && back < len(data); back++ {
		if r := data[len(data)-back:]; utf8.RuneStart(r[0]) {
			if !utf8.FullRune(r) {
				return len(data) - back
			}
			break
		}
	}
	return len(data)
}
