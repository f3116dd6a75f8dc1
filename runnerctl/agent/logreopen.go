package agent

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// segment is the name of a file of log bytes: where it starts among all that were
// appended, and of a note also where what follows it does.
func (e *entry) segment(s segment) string {
	name := fmt.Sprintf("log.%020d", s.start)
	if s.gap > 0 {
		name += fmt.Sprintf("-%020d", s.next())
	}
	return filepath.Join(e.dir, name)
}

// parseSegment reads the name of a file of log bytes; it is false for other files.
func parseSegment(name string) (segment, bool) {
	from, to, note := strings.Cut(strings.TrimPrefix(filepath.Base(name), "log."), "-")
	start, err := strconv.ParseInt(from, 10, 64)
	if err != nil || !note {
		return segment{start: start}, err == nil
	}
	next, err := strconv.ParseInt(to, 10, 64)
	return segment{start: start, gap: next - start}, err == nil && next > start
}

// reopenLog finds the log that an earlier process left. Whole records count; the
// piece of one that a killed process may have left at the end is cut off.
func reopenLog(e *entry, limit int64) (*logSpool, error) {
	l := newLogSpool(e, limit)
	files, err := e.segments()
	if err != nil {
		return nil, err
	}
	for _, s := range files {
		if s.start < l.written {
			_ = os.Remove(e.segment(s)) // a note has taken its place
			continue
		}
		if s.start > l.written {
			// Between notes and what follows them everything was sent. Elsewhere a file is missing, and what follows cannot be sent.
			if slices.ContainsFunc(l.files, func(f segment) bool { return f.gap == 0 }) {
				break
			}
			l.end += s.start - l.written
			l.files, l.written = nil, s.start
		}
		if len(l.files) == 0 {
			l.sent = l.end
		}
		s.at = l.end
		if s.size > 0 {
			l.files = append(l.files, s)
		}
		l.end += s.size
		l.written = s.next()
	}
	return l, nil
}

// takeUp reads how far the containers' output is in the log, and cuts off the part of a
// record that is behind that. Nobody has sent it: what is sent was written whole.
func (l *logSpool) takeUp() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	size := l.offsets.load(l.entry, l.written)
	if len(l.files) == 0 || size >= l.written {
		return nil
	}
	last := &l.files[len(l.files)-1]
	if size < last.start || last.gap > 0 {
		return nil // a record is in one file: this is none of ours
	}
	if err := os.Truncate(l.entry.segment(*last), size-last.start); err != nil {
		return err
	}
	l.end -= l.written - size
	last.size, l.written = size-last.start, size
	return nil
}

// segments lists an entry's files of log bytes in their order. Of two that start at one
// place the longer comes first, a note before what it was put in place of.
func (e *entry) segments() ([]segment, error) {
	names, err := filepath.Glob(filepath.Join(e.dir, "log.*"))
	if err != nil {
		return nil, err
	}
	var files []segment
	for _, name := range names {
		s, ok := parseSegment(name)
		if !ok {
			continue
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		s.size = int64(bytes.LastIndexByte(b, '\n') + 1)
		files = append(files, s)
	}
	slices.SortFunc(files, func(a, b segment) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.gap, a.gap))
	})
	return files, nil
}
