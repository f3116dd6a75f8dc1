package cp

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// archive is a tar of entries; a size that is set is a lie.
func archive(t *testing.T, entries ...tar.Header) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range entries {
		body := h.PAXRecords["body"]
		h.PAXRecords = nil
		if h.Mode == 0 {
			h.Mode = 0o755
		}
		h.Size = int64(len(body))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &out
}

func file(name, body string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeReg, PAXRecords: map[string]string{"body": body}}
}

func link(name, to string) tar.Header {
	return tar.Header{Name: name, Linkname: to, Typeflag: tar.TypeSymlink}
}

// Nothing that an archive says makes a file outside the destination, or changes one there.
func TestNothingIsWrittenOutside(t *testing.T) {
	t.Parallel()
	for name, entries := range map[string][]tar.Header{
		"a path upwards":           {file("../outside", "bad")},
		"an absolute path":         {file("/outside", "bad")},
		"upwards in the middle":    {file("a/../../outside", "bad")},
		"a link upwards":           {link("a/out", "../../outside"), file("a/out", "fine")},
		"a link to the whole disk": {link("a", "/"), file("a/outside", "bad")},
		"a folder that is a link":  {link("a/up", ".."), file("a/up/../outside", "bad")},
		"a hard link":              {{Name: "a/hard", Linkname: "../outside", Typeflag: tar.TypeLink}},
		"a hard link, absolute":    {{Name: "a/hard", Linkname: "/etc/passwd", Typeflag: tar.TypeLink}},
		"a device":                 {{Name: "a/null", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}},
		"a pipe":                   {{Name: "a/pipe", Typeflag: tar.TypeFifo}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := t.TempDir()
			outside, dest := filepath.Join(top, "outside"), filepath.Join(top, "dest")
			if err := os.WriteFile(outside, []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(dest, 0o700); err != nil {
				t.Fatal(err)
			}
			left, err := unpack(archive(t, entries...), dest)
			if len(left) == 0 && err == nil && name != "a folder that is a link" {
				t.Error("nothing was left out, and nothing was wrong")
			}
			if data, err := os.ReadFile(outside); err != nil || string(data) != "mine" {
				t.Errorf("the file outside has %q, %v", data, err)
			}
			seen, err := filepath.Glob(filepath.Join(top, "*"))
			if err != nil || len(seen) != 2 {
				t.Errorf("there are %q", seen)
			}
		})
	}
}

func TestACopyHasANameAndAPlace(t *testing.T) {
	t.Parallel()
	tree := func() *bytes.Buffer {
		return archive(t, tar.Header{Name: "out/", Typeflag: tar.TypeDir, Mode: 0o500}, file("out/a", "A"), link("out/b", "a"),
			tar.Header{Name: "out/run", Typeflag: tar.TypeReg, Mode: 0o6755, PAXRecords: map[string]string{"body": "x"}})
	}
	top := t.TempDir()
	if left, err := unpack(tree(), top); err != nil || len(left) != 0 {
		t.Fatal(left, err)
	}
	if left, err := unpack(tree(), filepath.Join(top, "named")); err != nil || len(left) != 0 {
		t.Fatal(left, err)
	}
	for _, at := range []string{"out/b", "named/b"} {
		if data, err := os.ReadFile(filepath.Join(top, at)); err != nil || string(data) != "A" {
			t.Errorf("%s: %q, %v", at, data, err)
		}
	}
	fi, err := os.Stat(filepath.Join(top, "out/run"))
	if err != nil || fi.Mode() != 0o755 {
		t.Errorf("%v, %v", fi.Mode(), err)
	}
	if _, err := unpack(tree(), top); err != nil { // over what is there
		t.Errorf("again: %v", err)
	}
	if _, err := unpack(archive(t, file("out", "a file")), top); err == nil || !strings.Contains(err.Error(), "folder") {
		t.Errorf("a file over a folder: %v", err)
	}
	if _, err := unpack(strings.NewReader("no archive at all, but long enough to be looked at"), top); err == nil {
		t.Error("what is no archive is taken")
	}
}

func TestWhatIsPackedComesBack(t *testing.T) {
	t.Parallel()
	src, dest := filepath.Join(t.TempDir(), "src"), t.TempDir()
	if err := os.MkdirAll(filepath.Join(src, "deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(src, "deep", "größe 'x'"), []byte("data"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("deep", filepath.Join(src, "link")); err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	var size counter
	for _, w := range []interface{ Write([]byte) (int, error) }{&first, &second, &size} {
		if err := pack(w, src); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) || int(size) != first.Len() {
		t.Error("an archive is not the same when it is made again")
	}
	if left, err := unpack(&first, dest); err != nil || len(left) != 0 {
		t.Fatal(left, err)
	}
	if data, err := os.ReadFile(filepath.Join(dest, "src", "link", "größe 'x'")); err != nil || string(data) != "data" {
		t.Errorf("%q, %v", data, err)
	}
	if err := pack(&first, filepath.Join(src, "gone")); err == nil {
		t.Error("what is not there is packed")
	}
}

func TestWhichEndIsInAJob(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		from, to string
		want     Options
	}{
		{"job_1:/a", ".", Options{JobID: "job_1", Inside: "/a", Local: "."}},
		{"a:b", "job_1:c", Options{JobID: "job_1", Inside: "c", Local: "a:b", Put: true}},
		{"job_1:/a", "job_2:/a", Options{}},
		{"a", "b", Options{}},
		{"job_1:", ".", Options{}},
	} {
		o := &Options{}
		err := o.parse(tc.from, tc.to)
		if failed := tc.want == (Options{}); (err != nil) != failed || !failed && *o != tc.want {
			t.Errorf("%s %s: %+v, %v", tc.from, tc.to, *o, err)
		}
	}
}
