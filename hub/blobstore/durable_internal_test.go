package blobstore

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// What Put and Commit have stored must be on disk before its row is, and so must its name and those of the folders that
// were made for it: the bytes before the blob appears, and the names before the call returns.
func TestWhatIsStoredIsFlushed(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	b, err := Open(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	var seen []string
	b.disk.file = func(f *os.File) error {
		s, err := f.Stat()
		if err != nil || s.Size() != 5 {
			t.Errorf("%v, error %v: flushed before it was whole", s.Size(), err)
		}
		if all, _ := filepath.Glob(filepath.Join(root, "logs", "*", "*")); len(all) != 1 || filepath.Ext(all[0]) != ".tmp" {
			t.Errorf("it has appeared before it was flushed: %v", all)
		}
		seen = append(seen, "bytes")
		return f.Sync()
	}
	b.disk.dir = func(dir string) error {
		name, err := filepath.Rel(root, dir)
		seen = append(seen, name)
		return errors.Join(err, syncDir(dir))
	}
	for _, step := range []struct {
		key  string
		want []string
	}{
		{"logs/a/1", []string{"bytes", "logs/a", "logs", "."}},
		{"logs/b/1", []string{"bytes", "logs/b", "logs"}}, // the folder logs is known
	} {
		seen = nil
		if err := b.Put(t.Context(), step.key, []byte("12345")); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(seen, step.want) {
			t.Errorf("%s: flushed %v, want %v", step.key, seen, step.want)
		}
		if err := b.DeleteAll(t.Context(), filepath.Dir(step.key)); err != nil {
			t.Fatal(err)
		}
	}
	seen = nil
	if err := b.Put(t.Context(), "logs/a/2", []byte("12345")); err != nil { // its folder was made anew
		t.Fatal(err)
	}
	if want := []string{"bytes", "logs/a", "logs"}; !slices.Equal(seen, want) {
		t.Errorf("flushed %v, want %v", seen, want)
	}
}

// A blob that cannot be flushed is none.
func TestAFlushThatFails(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	b, err := Open(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	b.disk.file = func(*os.File) error { return errors.New("input/output error") }
	w, err := b.Create(t.Context(), "blobs/a/bytes")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.Write(bytes.Repeat([]byte("x"), 100)); err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(); err == nil {
		t.Error("it was stored")
	}
	if left, _ := filepath.Glob(filepath.Join(root, "blobs/a/*")); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}
