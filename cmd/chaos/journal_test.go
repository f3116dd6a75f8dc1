//go:build linux

package main

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"
)

// journal is what was done to the parts of the run, and when.
type journal struct {
	began time.Time
	file  *os.File

	mu    sync.Mutex
	spans []span
}

// span is one fault, from its beginning to when it was over.
type span struct {
	fault    faultKind
	what     string
	from, to time.Time
}

func newJournal(t *testing.T, began time.Time, path string) *journal {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return &journal{began: began, file: f}
}

func (j *journal) note(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	fmt.Fprintf(j.file, "%9.3fs %s\n", time.Since(j.began).Seconds(), fmt.Sprintf(format, args...))
}

// span notes the beginning of a fault. The returned function notes its end.
func (j *journal) span(k faultKind, what string) (end func()) {
	from := time.Now()
	j.note("%s %s", k, what)
	return func() {
		j.note("end of: %s %s", k, what)
		j.mu.Lock()
		defer j.mu.Unlock()
		j.spans = append(j.spans, span{k, what, from, time.Now()})
	}
}

// all returns the faults that are over.
func (j *journal) all() []span {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]span(nil), j.spans...)
}
