package attempt

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/runnerhub/runnerhub/topology/gitignore"
	"github.com/runnerhub/runnerhub/topology/gitpatch"
)

// maxRules is how much is read of an ignore file, in bytes.
const maxRules = 1 << 20

// sourceTree is what a job started with, on this machine. No path of it is resolved
// through a link.
type sourceTree struct {
	root  *os.Root // nil for a job without a source
	files map[string]sourceFile
	rules []gitignore.Rule // of its ignore files
}

// sourceFile is a file of it, or a link with its target.
type sourceFile struct {
	regular bool
	mode    gitpatch.Mode
	size    int64
	link    string
}

// readTree lists a source's files and reads its rules. dir "" is an empty source.
func readTree(ctx context.Context, dir string) (*sourceTree, error) {
	t := &sourceTree{files: map[string]sourceFile{}}
	if dir == "" {
		return t, nil
	}
	var err error
	if t.root, err = os.OpenRoot(dir); err != nil {
		return nil, err
	}
	var ignores []string
	err = fs.WalkDir(t.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir():
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		f := sourceFile{size: info.Size(), mode: gitpatch.Regular}
		switch info.Mode().Type() {
		case 0:
			f.regular = true
			if info.Mode()&0o100 != 0 {
				f.mode = gitpatch.Executable
			}
			if base := path.Base(name); (base == ".gitignore" || base == ".runnerhubignore") && f.size <= maxRules {
				ignores = append(ignores, name)
			}
		case fs.ModeSymlink:
			f.mode = gitpatch.Link
			if f.link, err = t.root.Readlink(name); err != nil {
				return err
			}
		default:
			return nil
		}
		t.files[name] = f
		return nil
	})
	if err == nil {
		err = t.readRules(ignores)
	}
	if err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// readRules reads ignore files, those of deeper folders later, since a later rule wins.
func (t *sourceTree) readRules(names []string) error {
	slices.SortStableFunc(names, func(a, b string) int { return strings.Count(a, "/") - strings.Count(b, "/") })
	for _, name := range names {
		text, err := t.root.ReadFile(name)
		if err != nil {
			return err
		}
		t.rules = append(t.rules, gitignore.Parse(path.Dir(name), text)...)
	}
	return nil
}

// same says whether a file has just this content of size bytes. read is what was taken
// from content, where it has not.
func (t *sourceTree) same(name string, content io.Reader, size int64) (same bool, read []byte, err error) {
	f, err := t.root.Open(name)
	if err != nil {
		return false, nil, err
	}
	defer f.Close()
	const piece = 64 << 10
	var taken bytes.Buffer
	old, fresh := make([]byte, piece), make([]byte, piece)
	for left := size; left > 0; {
		n := min(left, piece)
		got, err := io.ReadFull(content, fresh[:n])
		if size <= maxPatched { // more is not in a patch anyway
			taken.Write(fresh[:got])
		}
		if err != nil {
			return false, nil, err
		}
		if _, err := io.ReadFull(f, old[:n]); err != nil {
			return false, nil, err
		}
		if !bytes.Equal(old[:n], fresh[:n]) {
			return false, taken.Bytes(), nil
		}
		left -= n
	}
	return true, nil, nil
}

// file reads a file as it was, nil for none.
func (t *sourceTree) file(name string) (*gitpatch.File, error) {
	was, ok := t.files[name]
	switch {
	case !ok:
		return nil, nil
	case !was.regular:
		return &gitpatch.File{Mode: gitpatch.Link, Content: []byte(was.link)}, nil
	case was.size > maxPatched:
		return nil, errors.New("attempt: " + name + " is too large to be compared")
	}
	content, err := t.root.ReadFile(name)
	return &gitpatch.File{Mode: was.mode, Content: content}, err
}

func (t *sourceTree) close() {
	if t.root != nil {
		t.root.Close()
	}
}
