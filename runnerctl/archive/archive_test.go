package archive_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/runnerhub/runnerhub/runnerctl/archive"
)

// entry is an entry of an archive that somebody made by hand.
type entry struct {
	kind       byte
	name, link string
	content    string
}

func dir(name string) entry           { return entry{kind: tar.TypeDir, name: name} }
func file(name, content string) entry { return entry{kind: tar.TypeReg, name: name, content: content} }
func link(name, target string) entry  { return entry{kind: tar.TypeSymlink, name: name, link: target} }

func made(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	for _, e := range entries {
		if err := w.WriteHeader(&tar.Header{Typeflag: e.kind, Name: e.name, Linkname: e.link, Size: int64(len(e.content)), Mode: 0o6777}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestUnpack(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	data := made(t, dir("./"), dir("d/"), dir("d/e"), file("d/e/f", "text"), link("d/e/up", "../../g"), file("g", "g"), link("loop", "loop"), file("empty", ""), file(`d/a\b`, "odd"))
	if err := archive.Unpack(t.Context(), bytes.NewReader(data), out, archive.Limits{}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"d/e/f": "text", "d/e/up": "g", "g": "g", "empty": "", `d/a\b`: "odd"} {
		if got, err := os.ReadFile(filepath.Join(out, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if info, err := os.Stat(filepath.Join(out, "g")); err != nil || info.Mode() != 0o755 { // neither setuid nor for others to write
		t.Errorf("g: %v, %v", info.Mode(), err)
	}
}

// No archive gets anything out of the folder, or anything into it that is no tree.
func TestUnpackRefuses(t *testing.T) {
	t.Parallel()
	big := file("f", strings.Repeat("x", 2000))
	valid := made(t, big)
	tests := map[string]struct {
		data   []byte
		words  string
		limits archive.Limits
	}{
		"a path above":              {data: made(t, file("../x", "x")), words: "leads out"},
		"a path above within":       {data: made(t, dir("d"), file("d/../../x", "x")), words: "leads out"},
		"an absolute path":          {data: made(t, file("/tmp/x", "x")), words: "leads out"},
		"a link above":              {data: made(t, link("l", "../x")), words: "link that leads out"},
		"an absolute link":          {data: made(t, link("l", "/etc/passwd")), words: "link that leads out"},
		"an empty link":             {data: made(t, link("l", "")), words: "link that leads out"},
		"a link down and up":        {data: made(t, dir("a"), dir("a/b"), link("a/b/root", "../.."), link("a/b/l", "root/../x")), words: "link that leads out"},
		"a file through a link":     {data: made(t, dir("d"), link("l", "d"), file("l/x", "x")), words: "in no folder"},
		"a file over a link":        {data: made(t, link("l", "x"), file("l", "x")), words: "there twice"},
		"a folder over a link":      {data: made(t, dir("d"), link("l", "d"), dir("l")), words: "there twice"},
		"a link over a folder":      {data: made(t, dir("d"), link("d", "x")), words: "there twice"},
		"a file twice":              {data: made(t, file("f", "x"), file("f", "y")), words: "there twice"},
		"a folder that is missing":  {data: made(t, file("d/f", "x")), words: "in no folder"},
		"a file for a folder":       {data: made(t, file("f", "x"), file("f/g", "x")), words: "in no folder"},
		"the folder itself, a file": {data: made(t, file(".", "x")), words: "there twice"},
		"a hard link":               {data: made(t, file("f", "x"), entry{kind: tar.TypeLink, name: "h", link: "f"}), words: "neither file"},
		"a device":                  {data: made(t, entry{kind: tar.TypeBlock, name: "sda"}), words: "neither file"},
		"a character device":        {data: made(t, entry{kind: tar.TypeChar, name: "null"}), words: "neither file"},
		"a pipe":                    {data: made(t, entry{kind: tar.TypeFifo, name: "p"}), words: "neither file"},
		"too many bytes":            {data: valid, words: "larger than 1.952KiB", limits: archive.Limits{Bytes: 1999}},
		"too many files":            {data: made(t, file("a", ""), file("b", ""), file("c", "")), words: "more than 2 files", limits: archive.Limits{Files: 2}},
		"half an archive":           {data: valid[:len(valid)/2], words: "cannot be read"},
		"no archive":                {data: []byte("a text"), words: "cannot be read"},
		"no tar":                    {data: zipped(t, strings.Repeat("a text", 1000)), words: "cannot be read"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			above := t.TempDir()
			out := filepath.Join(above, "tree")
			if err := os.Mkdir(out, 0o700); err != nil {
				t.Fatal(err)
			}
			err := archive.Unpack(t.Context(), bytes.NewReader(tt.data), out, tt.limits)
			bad, ok := errors.AsType[*archive.Error](err)
			if !ok || !strings.Contains(bad.Message, tt.words) {
				t.Errorf("got %v", err)
			}
			if left, err := os.ReadDir(above); err != nil || len(left) != 1 {
				t.Errorf("beside the tree there are %v, %v", left, err)
			}
		})
	}
}

func zipped(t *testing.T, text string) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return z.EncodeAll([]byte(text), nil)
}

// A gigabyte of nothing in a few kilobytes is not unpacked beyond the limit.
func TestUnpackBounds(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	for _, name := range []string{"a", "b"} {
		err = errors.Join(err, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: 1 << 22, Mode: 0o644}))
		_, copyErr := io.CopyN(w, zeros{}, 1<<22)
		err = errors.Join(err, copyErr)
	}
	if err := errors.Join(err, w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	if err := archive.Unpack(t.Context(), &b, out, archive.Limits{Bytes: 6 << 20}); err == nil {
		t.Error("unpacked beyond the limit")
	}
	if _, err := os.Lstat(filepath.Join(out, "b")); err == nil {
		t.Error("began a file that does not fit")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.ErrClosedPipe)
	if err := archive.Unpack(ctx, bytes.NewReader(made(t, file("f", "x"))), t.TempDir(), archive.Limits{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
}

// One entry may have any number of headers before it. They end with the limit, and with ctx.
func TestUnpackOfHeadersWithoutEnd(t *testing.T) {
	t.Parallel()
	header := make([]byte, 512)
	copy(header, "x")
	copy(header[100:], "0000644\x000000000\x000000000\x0000000000000\x0000000000000\x00        L") // a GNU long name of no bytes
	copy(header[257:], "ustar  \x00")
	sum := 0
	for _, b := range header {
		sum += int(b)
	}
	copy(header[148:], fmt.Sprintf("%06o\x00 ", sum))
	endless := func() io.Reader {
		r, w := io.Pipe()
		t.Cleanup(func() { _ = r.Close() })
		go func() {
			z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
			for err == nil {
				_, err = z.Write(header)
			}
			_ = w.CloseWithError(err)
		}()
		return r
	}
	err := archive.Unpack(t.Context(), endless(), t.TempDir(), archive.Limits{Bytes: 1, Files: 1})
	if err == nil || !strings.Contains(err.Error(), "longer than what is in it") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, io.ErrClosedPipe)
	defer cancel()
	if err := archive.Unpack(ctx, endless(), t.TempDir(), archive.Limits{Bytes: 1 << 50}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func FuzzUnpack(f *testing.F) {
	f.Add([]byte("d/"), []byte("../x"), "x", byte(tar.TypeSymlink))
	f.Add([]byte("l"), []byte("l/x"), "..", byte(tar.TypeReg))
	f.Fuzz(func(t *testing.T, first, second []byte, target string, kind byte) {
		var b bytes.Buffer
		z, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		w := tar.NewWriter(z)
		for i, name := range [][]byte{first, second} {
			k := kind
			if i == 0 {
				k = tar.TypeSymlink
			}
			_ = w.WriteHeader(&tar.Header{Typeflag: k, Name: string(name), Linkname: target, Mode: 0o777}) // not every header can be written
		}
		_ = w.Close()
		_ = z.Close()
		above := t.TempDir()
		out := filepath.Join(above, "tree")
		if err := os.Mkdir(out, 0o700); err != nil {
			t.Fatal(err)
		}
		_ = archive.Unpack(t.Context(), &b, out, archive.Limits{}) // refused or not
		if left, err := os.ReadDir(above); err != nil || len(left) != 1 {
			t.Fatalf("beside the tree there are %v, %v", left, err)
		}
	})
}
