package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
)

// chunkSize is the most that is sent at once, in bytes.
const chunkSize = mcp.MaxLogChunk

// errLogGap means that the hub asks for log bytes that were sent and are gone here.
var errLogGap = errors.New("the hub asks for log bytes that it had accepted before")

// The uploader's end of the queue.

// ready waits until there is something worth sending: a full chunk, or the
// first byte and then every, or the log's end. It is false when everything is sent and the log closed.
func (l *logSpool) ready(ctx context.Context, every time.Duration) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.end == l.sent && !l.closed && !l.dead {
		if !l.await(ctx) {
			return false, context.Cause(ctx)
		}
	}
	linger, cancel := context.WithTimeout(ctx, every)
	defer cancel()
	for l.end-l.sent < chunkSize && !l.closed && !l.dead {
		if !l.await(linger) {
			break
		}
	}
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	return l.end > l.sent && !l.dead, nil
}

// chunk reads the next bytes into buf: whole records, at most chunkSize, from one file.
func (l *logSpool) chunk(buf []byte) (b []byte, offset int64, err error) {
	l.mu.Lock()
	s, offset := segment{}, l.sent
	for _, f := range l.files {
		if offset >= f.start && offset < f.start+f.size {
			s = f
		}
	}
	l.mu.Unlock()
	if s.size == 0 {
		return nil, offset, fmt.Errorf("the log's spool has no byte %d", offset)
	}
	f, err := os.Open(l.entry.segment(s.start))
	if err != nil {
		return nil, offset, err
	}
	defer f.Close()
	b = buf[:min(int64(len(buf)), s.start+s.size-offset)]
	if _, err := io.ReadFull(io.NewSectionReader(f, offset-s.start, int64(len(b))), b); err != nil {
		return nil, offset, err
	}
	// A record is far smaller than a chunk, so there is an end of one in it.
	if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
		b = b[:i+1]
	}
	return b, offset, nil
}

// acked tells that the hub has everything before next, and removes the files
// that are sent whole. The hub may be ahead, if its answer to an earlier process
// was lost; it must not be behind what is still here.
func (l *logSpool) acked(next int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.files) > 0 && next < l.files[0].start {
		return errLogGap
	}
	l.sent = min(next, l.end)
	for len(l.files) > 0 {
		f := l.files[0]
		if f.start+f.size > l.sent || (len(l.files) == 1 && l.out != nil) {
			break
		}
		_ = os.Remove(l.entry.segment(f.start))
		l.files = l.files[1:]
	}
	l.signal()
	return nil
}

// abandon gives the log up: what is unsent and what comes is dropped.
func (l *logSpool) abandon() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = true
	l.signal()
}

func (l *logSpool) isDead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

func (e *entry) segment(start int64) string {
	return filepath.Join(e.dir, fmt.Sprintf("log.%020d", start))
}

// reopenLog finds the log that an earlier process left. Whole records count; the
// piece of one that a killed process may have left at the end is cut off.
func reopenLog(e *entry, limit int64) (*logSpool, error) {
	l := newLogSpool(e, limit)
	names, err := filepath.Glob(filepath.Join(e.dir, "log.*"))
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	for _, name := range names {
		start, err := strconv.ParseInt(strings.TrimPrefix(filepath.Base(name), "log."), 10, 64)
		if err != nil {
			continue
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		size := int64(bytes.LastIndexByte(b, '\n') + 1)
		if len(l.files) == 0 {
			l.sent, l.end = start, start
		}
		if start != l.end {
			break // a file is missing: what follows cannot be sent
		}
		if size == 0 {
			continue
		}
		l.files = append(l.files, segment{start: start, size: size})
		l.end = start + size
	}
	return l, nil
}
