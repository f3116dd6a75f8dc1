package joblog

import "bytes"

// maxLine is the longest line that the parser waits for the end of: a full
// payload and generous room for what stands before it.
const maxLine = MaxPayload + 4<<10

// Parser reads a log in chunks of any size. It never fails: a line that is no
// record comes out as one of the system stream, with its bytes as the payload
// and the time zero. Its memory is bounded whatever it reads. The zero Parser
// starts at the log's first byte.
type Parser struct {
	buf   []byte // the unfinished line
	start int64  // offset of its first byte

	inside  bool // the line's start was not seen
	garbage bool // the line was too long for a record and its start was given out already
}

// Entry is a record and where it stands in the log: from Start, a line's first
// byte, to End, one after its line feed.
type Entry struct {
	Record
	Start, End int64
	OK         bool // false: the line was no record
	Whole      bool // its line feed was seen, so nothing of it is still to come
}

// Restart drops what is unfinished and goes on at another offset. inside says that
// the byte there may be in the middle of a line; what is left of that line is
// then passed over unless it reads as a record.
func (p *Parser) Restart(offset int64, inside bool) {
	*p = Parser{buf: p.buf[:0], start: offset, inside: inside}
}

// Offset is where the unfinished line starts, and so where a later reader can
// go on without losing any of it.
func (p *Parser) Offset() int64 { return p.start }

// Write takes the next bytes and gives each finished line to yield, until that
// returns false. It then returns false and leaves the rest of data unread: Restart at the last Entry's End to go on.
// A payload is valid until yield returns.
func (p *Parser) Write(data []byte, yield func(Entry) bool) bool {
	for len(data) > 0 {
		i := bytes.IndexByte(data, '\n')
		if i < 0 {
			i = len(data)
		}
		// Room is what may be added before the line is too long for a record.
		if room := maxLine - len(p.buf); i > room {
			p.buf = append(p.buf, data[:room]...)
			data = data[room:]
			if !p.give(p.buf, 0, yield) {
				return false
			}
			p.garbage = true
			continue
		}
		if i == len(data) {
			p.buf = append(p.buf, data...)
			return true
		}
		line := data[:i]
		if len(p.buf) > 0 {
			p.buf = append(p.buf, line...)
			line = p.buf
		}
		data = data[i+1:]
		if !p.give(line, 1, yield) {
			return false
		}
		p.inside, p.garbage = false, false
	}
	return true
}

// Flush gives out the unfinished line, where a log has ended or has a gap.
func (p *Parser) Flush(yield func(Entry) bool) bool {
	if len(p.buf) == 0 {
		return true
	}
	return p.give(p.buf, 0, yield)
}

// give hands out a line, or a piece of one (lf 0).
func (p *Parser) give(line []byte, lf int64, yield func(Entry) bool) bool {
	e := Entry{Start: p.start, End: p.start + int64(len(line)) + lf, Whole: lf == 1}
	p.start = e.End
	p.buf = p.buf[:0]
	// A line that was not seen whole is passed over, unless it is too long to be
	// the rest of a record.
	seen := !p.inside || p.garbage || len(line) >= maxLine
	if !p.garbage && (e.Whole || seen) {
		e.Record, e.OK = ParseLine(line)
	}
	if !e.Whole && e.OK {
		e.Partial = true // its line feed was not seen, so there may be more of it
	}
	if !e.OK {
		if !seen {
			return true
		}
		e.Record = Record{Stream: System, Partial: !e.Whole, Payload: line}
	}
	return yield(e)
}
