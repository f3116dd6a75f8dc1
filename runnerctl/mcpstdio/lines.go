package mcpstdio

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// line is one of the client's lines, or why there are no more.
type line struct {
	text    []byte
	tooLong bool // its text is dropped
	err     error
}

// readLines sends every line that is not blank, and closes the channel at the end. It reads no further while nobody
// takes a line, and stops when done is closed.
func readLines(in io.Reader, lines chan<- line, done <-chan struct{}) {
	defer close(lines)
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		l, err := readLine(r)
		if l.tooLong || len(bytes.TrimSpace(l.text)) > 0 {
			if !send(lines, l, done) {
				return
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				send(lines, line{err: err}, done)
			}
			return
		}
	}
}

func send(lines chan<- line, l line, done <-chan struct{}) bool {
	select {
	case lines <- l:
		return true
	case <-done:
		return false
	}
}

// readLine reads up to a newline or the end, and keeps at most MaxLine bytes at any time.
func readLine(r *bufio.Reader) (line, error) {
	var l line
	for {
		part, err := r.ReadSlice('\n')
		switch {
		case l.tooLong:
		case len(l.text)+len(part) > MaxLine+1: // and the newline
			l = line{tooLong: true}
		default:
			l.text = append(l.text, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return l, err
		}
	}
}

// outError is why Out cannot be written to.
type outError struct{ cause error }

func (e *outError) Error() string { return fmt.Sprintf("standard output: %v", e.cause) }
func (e *outError) Unwrap() error { return e.cause }

// writer writes messages as lines, each whole. After a failure it writes nothing more.
type writer struct {
	to     io.Writer
	broken func(error)

	mu     sync.Mutex
	failed error
}

// write sends one message. What the hub has spread over lines becomes one.
func (w *writer) write(message json.RawMessage) {
	var b bytes.Buffer
	if err := json.Compact(&b, message); err != nil {
		return // never: what is not JSON was refused before
	}
	b.WriteByte('\n')
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed != nil {
		return
	}
	if _, err := w.to.Write(b.Bytes()); err != nil {
		w.failed = &outError{err}
		w.broken(w.failed)
	}
}

// fail answers with an error; a nil id says that none could be read.
func (w *writer) fail(id json.RawMessage, f *fault) {
	if id == nil {
		id = json.RawMessage("null")
	}
	w.write(encode(response{JSONRPC: "2.0", ID: id, Error: encode(f)}))
}

func (w *writer) err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}
