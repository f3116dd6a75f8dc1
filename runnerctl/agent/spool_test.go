package agent_test

import (
	"os"
	"path/filepath"
	"testing"
)

// wantEmptySpool checks that nothing waits to be sent.
func wantEmptySpool(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(filepath.Join(dir, "attempts"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		t.Errorf("left in the spool: %s", e.Name())
	}
}

func child() bool { return false }
