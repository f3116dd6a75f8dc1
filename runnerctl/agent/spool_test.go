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

// spoolBytes is how much is on disk in the spool.
func spoolBytes(t *testing.T, dir string) (n int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		fi, err := d.Info()
		if err == nil {
			n += fi.Size()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
