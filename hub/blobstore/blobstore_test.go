package blobstore_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/blobstore"
)

// A folder goes with what was left in it by a hub that was killed, and its neighbours stay.
func TestDeleteAll(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, err := blobstore.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, key := range []string{"logs/job_1/1/0-a", "logs/job_1/1/7-b", "logs/job_1/2/0-c", "logs/job_10/1/0-d", "logs/job_2/1/0-e"} {
		if err := b.Put(t.Context(), key, []byte("bytes")); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "logs/job_1/1/fileblob123"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a second time finds nothing
		if err := b.DeleteAll(t.Context(), "logs/job_1"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "logs/job_1")); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
	for key, want := range map[string]hub.Code{"logs/job_1/2/0-c": hub.NotFound, "logs/job_10/1/0-d": "", "logs/job_2/1/0-e": ""} {
		if _, err := b.Get(t.Context(), key); hub.CodeOf(err) != want {
			t.Errorf("%s: got %v, want code %q", key, err, want)
		}
	}
}
