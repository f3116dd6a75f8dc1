package blobstore_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/blobstore"
)

func TestStreams(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, err := blobstore.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	data := bytes.Repeat([]byte("0123456789"), 100_000)
	write := func(key string, end func(hub.BlobWriter) error) {
		t.Helper()
		w, err := b.Create(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if _, err := io.Copy(w, bytes.NewReader(data)); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Get(t.Context(), key); hub.CodeOf(err) != hub.NotFound {
			t.Errorf("%s can be read before it is whole: %v", key, err)
		}
		if err := end(w); err != nil {
			t.Fatal(err)
		}
	}
	write("blobs/a/bytes", hub.BlobWriter.Commit)
	write("blobs/b/bytes", hub.BlobWriter.Close)
	if _, err := b.Get(t.Context(), "blobs/b/bytes"); hub.CodeOf(err) != hub.NotFound {
		t.Errorf("a blob that was dropped: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "blobs/b/*")); err != nil || len(left) > 0 {
		t.Errorf("a dropped blob leaves %v, error %v", left, err)
	}
	for name, tt := range map[string]struct {
		offset, length int64
		want           []byte
	}{
		"whole":    {0, -1, data},
		"a range":  {12, 5, data[12:17]},
		"the rest": {int64(len(data) - 3), -1, data[len(data)-3:]},
		"nothing":  {12, 0, nil},
		"too much": {int64(len(data) - 3), 10, data[len(data)-3:]},
	} {
		r, err := b.Open(t.Context(), "blobs/a/bytes", tt.offset, tt.length)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, tt.want) {
			t.Errorf("%s: %d bytes, error %v", name, len(got), err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := b.Open(t.Context(), "blobs/none/bytes", 0, -1); hub.CodeOf(err) != hub.NotFound {
		t.Errorf("a blob that is not there: %v", err)
	}
	// What a writer left that was killed goes, and what is to be kept stays.
	if err := os.WriteFile(filepath.Join(dir, "blobs/a/fileblob123"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.DeleteAll(t.Context(), "blobs/a", "blobs/a/bytes"); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "blobs/a/*")); err != nil || len(left) != 1 {
		t.Errorf("left are %v, error %v", left, err)
	}
}
