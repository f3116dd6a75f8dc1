package gitpatch

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
	"github.com/rogpeppe/go-internal/diff"
)

// File is a state of a file: of a Link, Content is the target.
type File struct {
	Mode    Mode // not Same
	Content []byte
}

// Diff is what git apply makes after of before with, "" where they are the same. nil
// is a file that is not there; one of the two must be. The name must be one without a
// PathProblem. Content that is not UTF-8 or has a zero byte goes in git's binary form,
// so that the diff is always text that a spec can hold.
func Diff(name string, before, after *File) (string, error) {
	if before != nil && after != nil && (before.Mode == Link) != (after.Mode == Link) {
		gone, err := Diff(name, before, nil)
		if err != nil {
			return "", err
		}
		made, err := Diff(name, nil, after)
		return gone + made, err
	}
	f := &gitdiff.File{OldName: name, NewName: name, IsNew: before == nil, IsDelete: after == nil}
	old, fresh := contentOf(before), contentOf(after)
	f.OldMode, f.NewMode = gitMode(before), gitMode(after)
	switch {
	case f.IsNew:
		f.OldName = ""
	case f.IsDelete:
		f.NewName = ""
	case f.OldMode == f.NewMode:
		f.NewMode = 0
		if bytes.Equal(old, fresh) {
			return "", nil
		}
	}
	if !bytes.Equal(old, fresh) || f.IsNew || f.IsDelete {
		f.OldOIDPrefix, f.NewOIDPrefix = oid(before), oid(after)
	}
	switch {
	case bytes.Equal(old, fresh):
	case isBinary(old) || isBinary(fresh):
		packed, err := deflate(fresh)
		if err != nil {
			return "", err
		}
		f.IsBinary, f.BinaryFragment = true, &gitdiff.BinaryFragment{Method: gitdiff.BinaryPatchLiteral, Size: int64(len(fresh)), RawData: packed}
	default:
		var err error
		if f.TextFragments, err = hunks(old, fresh); err != nil {
			return "", err
		}
	}
	return f.String(), nil
}

// hunks compares two texts. The names serve to have the library read them.
func hunks(old, fresh []byte) ([]*gitdiff.TextFragment, error) {
	files, _, err := gitdiff.Parse(bytes.NewReader(diff.Diff("old", old, "new", fresh)))
	if err != nil {
		return nil, err
	}
	if len(files) != 1 {
		return nil, fmt.Errorf("gitpatch: a comparison has %d files", len(files))
	}
	return files[0].TextFragments, nil
}

// isBinary says whether a content cannot be text of a job's spec, which git's own rule,
// a zero byte early on, is a part of.
func isBinary(content []byte) bool { return bytes.IndexByte(content, 0) >= 0 || !utf8.Valid(content) }

func deflate(content []byte) ([]byte, error) {
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func contentOf(f *File) []byte {
	if f == nil {
		return nil
	}
	return f.Content
}

func oid(f *File) string {
	if f == nil {
		return strings.Repeat("0", 40)
	}
	return blob(f.Content)
}

func gitMode(f *File) os.FileMode {
	switch {
	case f == nil:
		return 0
	case f.Mode == Executable:
		return 0o100755
	case f.Mode == Link:
		return 0o120000
	}
	return 0o100644
}
