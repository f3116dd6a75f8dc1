package dispatch

import (
	"context"
	"slices"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/mcp/joblog"
)

// logFile reads one attempt's log.
type logFile struct {
	s       *Service
	jobID   string
	attempt int
	size    int64 // when it was looked at
	scanned int64 // bytes read so far
}

// item is a line of the log, or a gap where its middle was dropped.
type item struct {
	joblog.Entry
	gap int64 // bytes dropped from Start to End, 0 for a line
}

// forward gives the lines from an offset on, where a line starts, to yield, until that returns false, the
// log ends or scan bytes were read. partial says whether an unfinished last line is given too.
func (f *logFile) forward(ctx context.Context, from, scan int64, partial bool, yield func(item) bool) error {
	var p joblog.Parser
	p.Restart(from, false)
	at := from
	give := func(e joblog.Entry) bool { return yield(item{Entry: e}) }
	for at < f.size {
		chunks, err := f.s.store.LogChunks(ctx, f.jobID, f.attempt, at, page)
		if err != nil {
			return err
		}
		for _, c := range chunks {
			if c.Start > at { // the middle was dropped
				if !p.Flush(give) || !yield(item{Entry: joblog.Entry{Start: at, End: c.Start}, gap: c.Start - at}) {
					return nil
				}
				p.Restart(c.Start, true)
				at = c.Start
			}
			data, err := f.s.chunk(ctx, c)
			if err != nil {
				return err
			}
			if data == nil { // dropped while we read
				end := c.Start + c.Size
				if !p.Flush(give) || !yield(item{Entry: joblog.Entry{Start: at, End: end}, gap: end - at}) {
					return nil
				}
				p.Restart(end, true)
				at = end
				continue
			}
			data = data[at-c.Start:]
			f.scanned += int64(len(data))
			at += int64(len(data))
			if !p.Write(data, give) {
				return nil
			}
			if f.scanned >= scan {
				return nil
			}
		}
		if len(chunks) == 0 {
			break
		}
	}
	if partial {
		p.Flush(give)
	}
	return nil
}

// backward gives the lines that end at or before an offset to yield, the last
// first, until that returns false (it did not take the line), the log's start is reached or scan bytes
// were read. It returns the offset before which nothing was taken.
func (f *logFile) backward(ctx context.Context, before, scan int64, yield func(item) bool) (int64, error) {
	var (
		rest []byte // the start of a line whose beginning is in an earlier chunk
		at   = before
		last = before
	)
	// give parses bytes that start at a line start, or (inside) perhaps within one.
	give := func(data []byte, start int64, inside bool) bool {
		var (
			p     joblog.Parser
			items []item
		)
		p.Restart(start, inside)
		keep := func(e joblog.Entry) bool { items = append(items, item{Entry: own(e)}); return true }
		p.Write(data, keep)
		p.Flush(keep)
		for i := len(items) - 1; i >= 0; i-- {
			if !yield(items[i]) {
				last = items[i].End
				return false
			}
			last = items[i].Start
		}
		last = start
		return true
	}
	for at > 0 {
		chunks, err := f.s.store.LogChunksBefore(ctx, f.jobID, f.attempt, at, page)
		if err != nil {
			return last, err
		}
		if len(chunks) == 0 { // nothing is left before: the head was dropped, which a cap of one chunk can do
			break
		}
		for _, c := range chunks {
			end := c.Start + c.Size
			if end < at {
				if !give(rest, at, true) || !yield(item{Entry: joblog.Entry{Start: end, End: at}, gap: at - end}) {
					return last, nil
				}
				rest, at, last = nil, end, end
			}
			data, err := f.s.chunk(ctx, c)
			if err != nil {
				return last, err
			}
			if data == nil { // dropped while we read
				if !give(rest, at, true) || !yield(item{Entry: joblog.Entry{Start: c.Start, End: at}, gap: at - c.Start}) {
					return last, nil
				}
				rest, at, last = nil, c.Start, c.Start
				continue
			}
			data = data[:at-c.Start]
			f.scanned += int64(len(data))
			at = c.Start
			rest = append(data[:len(data):len(data)], rest...)
			cut := lineStart(rest, at == 0)
			if !give(rest[cut:], at+int64(cut), false) {
				return last, nil
			}
			rest = rest[:cut]
			if f.scanned >= scan {
				return last, nil
			}
		}
	}
	if len(rest) > 0 {
		give(rest, at, true)
	}
	return last, nil
}

// chunk reads a chunk's bytes; nil when they are gone, which a reader shows as a gap.
func (s *Service) chunk(ctx context.Context, c hub.LogChunk) ([]byte, error) {
	data, err := s.bucket.Get(ctx, c.Key)
	switch {
	case hub.CodeOf(err) == hub.NotFound:
		return nil, nil
	case err != nil:
		return nil, unavailable("the log's bytes could not be read", err)
	case int64(len(data)) != c.Size: // somebody else wrote in our bucket
		s.log.Error("a chunk of a log has another size than was stored", "key", c.Key, "size", len(data), "stored", c.Size)
		return nil, nil
	}
	return data, nil
}

// tail fills the bag with the log's last lines and says which bytes they are. A
// line that is still being written is left for later, unless the log is whole.
func (f *logFile) tail(ctx context.Context, bag *lineBag, whole bool) (from, to int64, err error) {
	to = f.size
	from, err = f.backward(ctx, to, f.s.logScan, func(it item) bool {
		if it.End == f.size && it.gap == 0 && !it.Whole && !whole {
			to = it.Start
			return true
		}
		return bag.add(it)
	})
	slices.Reverse(bag.lines)
	return min(from, to), to, err
}

// lineStart is where the first line starts that surely starts in data. Data
// without one that is longer than any record is taken as it is.
func lineStart(data []byte, first bool) int {
	if first {
		return 0
	}
	for i, b := range data {
		if b == '\n' {
			return i + 1
		}
	}
	if len(data) > 4*joblog.MaxPayload {
		return 0
	}
	return len(data)
}

// own keeps an entry's payload beyond the parser's next line.
func own(e joblog.Entry) joblog.Entry {
	e.Payload = append([]byte(nil), e.Payload...)
	return e
}
