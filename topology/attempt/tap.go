package attempt

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/runnerhub/runnerhub/topology"
)

// tap is where the output of one container comes out of the engine. It counts the
// bytes, so that another process can go on where this one was killed, takes out the
// marks between steps, and passes the rest on to the container's pump. It is for
// one goroutine.
type tap struct {
	pump *pump
	mark []byte // what a mark begins with; nil where there are none
	// steps names the steps, and ended hears that one has ended on a stream.
	steps   []topology.Step
	ended   func(s topology.Stream, step, code int)
	streams map[topology.Stream]*tapped
}

// tapped is one stream of a tap.
type tapped struct {
	at   int64  // bytes that came out, those in held included
	held []byte // may be the beginning of a mark
	step string
	// between says that no step runs: what comes all the same is from a process that a
	// step left behind. It is read again by whoever takes the attempt up, since the end
	// of the step before must not be missed.
	between bool
}

func newTap(p *pump, from topology.Offsets) *tap {
	return &tap{pump: p, streams: map[topology.Stream]*tapped{
		topology.Stdout: {at: from.Stdout.Bytes}, topology.Stderr: {at: from.Stderr.Bytes},
	}}
}

// write takes a piece of output.
func (t *tap) write(stream topology.Stream, data []byte) {
	s := t.streams[stream]
	if s == nil { // the engine's own words
		t.pump.write("", stream, data, 0)
		return
	}
	s.at += int64(len(data))
	if t.mark == nil {
		t.pass(s, stream, data, 0)
		return
	}
	if len(s.held) > 0 {
		data = append(s.held, data...)
		s.held = nil
	}
	for len(data) > 0 {
		i := bytes.Index(data, t.mark)
		if i < 0 {
			keep := beginning(data, t.mark)
			t.pass(s, stream, data[:len(data)-keep], keep)
			s.held = bytes.Clone(data[len(data)-keep:])
			return
		}
		t.pass(s, stream, data[:i], len(data)-i)
		data = data[i:]
		words, rest, whole := bytes.Cut(data[len(t.mark):], []byte{'\n'})
		if !whole && len(words) < markWords {
			s.held = bytes.Clone(data)
			return
		}
		if whole && t.heed(s, stream, string(words)) {
			data = rest
			continue
		}
		// Someone has printed this shell's own command line: it is output like any other.
		t.pass(s, stream, data[:len(t.mark)], len(data)-len(t.mark))
		data = data[len(t.mark):]
	}
}

// markWords is the longest that what follows a mark can be, in bytes.
const markWords = 16

// pass hands data on; after is how many bytes of the stream have come behind it already.
func (t *tap) pass(s *tapped, stream topology.Stream, data []byte, after int) {
	if len(data) == 0 {
		return
	}
	end := s.at - int64(after)
	if s.between {
		end = 0
	}
	t.pump.write(s.step, stream, data, end)
}

// heed carries out the words after a mark; it is false for what is none.
func (t *tap) heed(s *tapped, stream topology.Stream, words string) bool {
	kind, numbers, _ := strings.Cut(words, " ")
	first, second, _ := strings.Cut(numbers, " ")
	n, err := strconv.Atoi(first)
	if err != nil || n < 1 || n > len(t.steps) {
		return false
	}
	switch kind {
	case "b":
		s.step, s.between = t.steps[n-1].Name, false
		return second == ""
	case "e":
		code, err := strconv.Atoi(second)
		if err != nil {
			return false
		}
		s.between = true
		t.ended(stream, n, code)
		return true
	}
	return false
}

// flush passes on what was held back, at the end of the output.
func (t *tap) flush() {
	for stream, s := range t.streams {
		held := s.held
		s.held = nil
		t.pass(s, stream, held, 0)
	}
}

// beginning returns the length of the longest end of data that mark begins with.
func beginning(data, mark []byte) int {
	for n := min(len(data), len(mark)-1); n > 0; n-- {
		if bytes.HasPrefix(mark, data[len(data)-n:]) {
			return n
		}
	}
	return 0
}
