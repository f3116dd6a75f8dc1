package attempt

import (
	"bytes"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// recordLimit is the most bytes that a record has.
const recordLimit = 32 << 10

// recorder makes records of pieces: whole lines where it can, in order per stream.
type recorder struct {
	emit    func(topology.Record)
	service string
	streams [2]partial // stdout, stderr
	last    topology.Stream
}

// partial is the beginning of a line, or lines, that are still to be emitted.
type partial struct {
	time time.Time
	step string
	data []byte
	end  int64 // of data in the container's stream; see piece
}

// add takes a piece. Lines wait for more of the same stream until whole is called.
func (r *recorder) add(item piece) {
	if item.stream == topology.System {
		r.flush()
		r.send(topology.System, partial{item.time, item.step, item.data, 0})
		return
	}
	if item.stream != r.last {
		r.whole()
		r.last = item.stream
	}
	p := r.of(item.stream)
	if len(p.data) > 0 && (p.step != item.step || (p.end == 0) != (item.end == 0)) {
		r.send(item.stream, *p)
		p.data = p.data[:0]
	}
	if len(p.data) == 0 {
		p.time, p.step = item.time, item.step
	}
	p.data = append(p.data, item.data...)
	p.end = item.end
	for len(p.data) >= recordLimit {
		r.cut(item.stream, p)
	}
}

// whole emits the lines that are complete.
func (r *recorder) whole() {
	for _, stream := range []topology.Stream{topology.Stdout, topology.Stderr} {
		for p := r.of(stream); r.cut(stream, p); {
		}
	}
}

// cut emits the next record of p, if there is one yet.
func (r *recorder) cut(stream topology.Stream, p *partial) bool {
	n := recordCut(p.data)
	if n == 0 {
		return false
	}
	r.send(stream, partial{p.time, p.step, p.data[:n], before(p.end, len(p.data)-n)})
	p.data = append(p.data[:0], p.data[n:]...)
	return true
}

func (r *recorder) of(stream topology.Stream) *partial {
	if stream == topology.Stderr {
		return &r.streams[1]
	}
	return &r.streams[0]
}

// recordCut returns how many bytes of data make the next record: whole lines as
// far as they fit, a full record of a longer line, or 0 for the beginning of one.
func recordCut(data []byte) int {
	if i := bytes.LastIndexByte(data[:min(len(data), recordLimit)], '\n'); i >= 0 {
		return i + 1
	}
	if len(data) >= recordLimit {
		return recordLimit
	}
	return 0
}

// pending says whether the beginning of a line waits for the rest.
func (r *recorder) pending() bool { return len(r.streams[0].data)+len(r.streams[1].data) > 0 }

// flush emits what is pending.
func (r *recorder) flush() {
	for _, stream := range []topology.Stream{topology.Stdout, topology.Stderr} {
		if p := r.of(stream); len(p.data) > 0 {
			r.send(stream, *p)
			p.data = p.data[:0]
		}
	}
}

func (r *recorder) send(stream topology.Stream, p partial) {
	for data := p.data; len(data) > 0; {
		n := min(len(data), recordLimit)
		r.emit(topology.Record{
			Time: p.time, Stream: stream, Service: r.service, Step: p.step, Data: data[:n], Offset: before(p.end, len(data)-n),
		})
		data = data[n:]
	}
}
