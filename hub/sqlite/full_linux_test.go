package sqlite

import (
	"path/filepath"
	"strings"
	"testing"
)

// A disk that refuses to write in the middle of a transaction.
func TestDiskThatFails(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hub.db")
	c := startChild(t, taskLimit, path)
	lines := c.rest()
	last := lines[len(lines)-1]
	if !strings.HasPrefix(last, "error unavailable ") || len(lines) < 10 {
		t.Fatalf("after %d lines: %s", len(lines), last)
	}
	s := open(t, path, Options{})
	allThere(t, s, lines)
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
}
