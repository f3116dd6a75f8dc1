package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// segmentSize is when a new file of log bytes is begun: what has been sent is
// removed file by file, so it is also what the disk holds too much, in bytes. Where
// little may be kept it is this part of that.
const (
	segmentSize = 4 << 20
	segmentPart = 8
)

// errSpoolFull is the cause that ends an attempt whose log has no room on this machine's disk.
var errSpoolFull = errors.New("this machine's disk is full: the job's log cannot be kept")

// logSpool is an attempt's log on its way to the hub: written on one end by the
// attempt, read on the other by the uploader. Between the two are at most limit
// bytes on disk and none in memory. It is a queue by byte offset in the log.
type logSpool struct {
	entry *entry
	limit int64

	mu      sync.Mutex
	files   []segment // the last one is written to
	out     *os.File  // the last one, open for writing
	written int64     // what was appended so far
	end     int64     // the log's size so far: what was appended, without what was dropped
	sent    int64     // the hub has everything before it
	away    time.Time // the hub has taken nothing since; zero while it does
	closed  bool      // nothing is written any more
	dead    bool      // nothing can be sent any more: bytes are dropped
	changed chan struct{}
	buf     []byte
	offsets offsetsFile
}

// segment is one file of log bytes.
type segment struct {
	start int64 // of its first byte among all that were appended; names the file
	at    int64 // of its first byte in the log; differs from start behind a gap
	size  int64
	gap   int64 // of a note: how many appended bytes were dropped for it
}

// next is the start of what was appended after it.
func (s segment) next() int64 {
	if s.gap > 0 {
		return s.start + s.gap
	}
	return s.start + s.size
}

func newLogSpool(e *entry, limit int64) *logSpool {
	return &logSpool{entry: e, limit: limit, changed: make(chan struct{})}
}

// Append writes a record. It blocks while the unsent bytes are at their limit,
// which slows the job down to what the hub takes, until ctx ends. A hub that takes
// nothing does not stop the job: see thin.
func (l *logSpool) Append(ctx context.Context, r topology.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.dead && !l.closed && l.end-l.sent >= l.limit {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		thinned, err := l.thin()
		if err != nil {
			return l.failed(err)
		}
		if !thinned && !l.awaitRoom(ctx) {
			return context.Cause(ctx)
		}
	}
	if l.dead || l.closed {
		return nil
	}
	l.buf = appendRecord(l.buf[:0], r)
	if err := l.offsets.note(l.entry, r, l.written+int64(len(l.buf))); err != nil {
		return l.failed(err)
	}
	if err := l.write(l.buf); err != nil {
		return err
	}
	l.offsets.noted()
	return nil
}

// await gives up the lock until something changes; it is false if ctx ended.
func (l *logSpool) await(ctx context.Context) bool {
	changed := l.changed
	l.mu.Unlock()
	defer l.mu.Lock()
	select {
	case <-changed:
		return true
	case <-ctx.Done():
		return false
	}
}

// signal wakes everybody who waits. Callers hold the lock.
func (l *logSpool) signal() {
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *logSpool) write(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if l.out == nil || l.files[len(l.files)-1].size >= min(segmentSize, l.limit/segmentPart) {
		if err := l.rotate(); err != nil {
			return l.failed(err)
		}
	}
	last := &l.files[len(l.files)-1]
	if n, err := l.entry.spool.write(l.out, b); err != nil {
		// What is in the file must stay whole records: the rest is refused anyway.
		if n > 0 {
			_ = l.out.Truncate(last.size)
			_, _ = l.out.Seek(last.size, 0)
		}
		return l.failed(err)
	}
	quiet := l.end == l.sent
	last.size += int64(len(b))
	l.written += int64(len(b))
	l.end += int64(len(b))
	// The uploader has to know of the first byte and of a full chunk, not of each record.
	if quiet || l.end-l.sent >= chunkSize {
		l.signal()
	}
	return nil
}

func (l *logSpool) failed(err error) error {
	if isDiskFull(err) {
		return fmt.Errorf("%w: %w", errSpoolFull, err)
	}
	return fmt.Errorf("the job's log cannot be written: %w", err)
}

func (l *logSpool) rotate() error {
	s := segment{start: l.written, at: l.end}
	f, err := os.OpenFile(l.entry.segment(s), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if l.out != nil {
		_ = l.out.Close()
	}
	l.out = f
	l.files = append(l.files, s)
	return nil
}

// Close ends the log; what is unsent stays to be sent.
func (l *logSpool) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.closed = true
	l.offsets.close()
	if l.out != nil {
		_ = l.out.Close()
		l.out = nil
	}
	l.signal()
}

// Appended is how many bytes were appended in the attempt's life, dropped ones included.
func (l *logSpool) Appended() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.written
}

// Size is how long the log is and how much of it the hub lacks, in bytes.
func (l *logSpool) Size() (end, unsent int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end, l.end - l.sent
}

// sync brings the unsent bytes to the disk, so that a report that outlives a
// loss of power has its log.
func (l *logSpool) sync() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead || l.end == l.sent {
		return nil
	}
	for _, s := range l.files {
		f, err := os.OpenFile(l.entry.segment(s), os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		err = f.Sync()
		_ = f.Close()
		if err != nil {
			return err
		}
	}
	return nil
}
