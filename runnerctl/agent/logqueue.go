package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
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
		if offset >= f.at && offset < f.at+f.size {
			s = f
		}
	}
	l.mu.Unlock()
	if s.size == 0 {
		return nil, offset, fmt.Errorf("the log's spool has no byte %d", offset)
	}
	f, err := os.Open(l.entry.segment(s))
	if err != nil {
		return nil, offset, err
	}
	defer f.Close()
	b = buf[:min(int64(len(buf)), s.at+s.size-offset)]
	if _, err := io.ReadFull(io.NewSectionReader(f, offset-s.at, int64(len(b))), b); err != nil {
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
	if len(l.files) > 0 && next < l.files[0].at {
		return errLogGap
	}
	l.away = time.Time{}
	l.sent = min(next, l.end)
	for len(l.files) > 1 { // the last one tells the next process where the log ends
		f := l.files[0]
		if f.at+f.size > l.sent {
			break
		}
		if f.gap == 0 { // a note stays: it tells where what follows stands in the log
			_ = os.Remove(l.entry.segment(f))
		}
		l.files = l.files[1:]
	}
	l.signal()
	return nil
}

// refused tells that the hub takes nothing now.
func (l *logSpool) refused() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away.IsZero() {
		l.away = time.Now()
		l.signal()
	}
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
