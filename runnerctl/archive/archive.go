// Package archive is the format of a source archive: a tar stream, compressed by
// zstd, of folders, files and symbolic links that stay inside. The same tree has
// the same bytes, so that an archive is known by their digest.
package archive

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/docker/go-units"
)

// Limits bound a tree, unpacked.
type Limits struct {
	Bytes int64 // of all files; default 8 GiB
	Files int   // files, folders and links; default 500,000
}

// WithDefaults returns the limits with the defaults for zero fields.
func (l Limits) WithDefaults() Limits {
	if l.Bytes <= 0 {
		l.Bytes = 8 << 30
	}
	if l.Files <= 0 {
		l.Files = 500_000
	}
	return l
}

// stream is how many bytes a tar stream of such a tree may have: the files, and headers
// with long names and what fills up their blocks.
func (l Limits) stream() int64 {
	const each = 16 << 10
	return l.Bytes + int64(l.Files)*each + 1<<20
}

// Error is a tree or an archive that is refused for what it is. Message goes on in
// a sentence.
type Error struct{ Message, Hint string }

// Error is the message.
func (e *Error) Error() string { return e.Message }

// Budget counts what a tree holds against its limits.
type Budget struct {
	Limits Limits
	Bytes  int64
	Files  int
}

// Unreadable is what a person is told of an entry of a tree that could not be looked at, or read.
func Unreadable(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &Error{clip(name) + " has vanished since the tree was looked through", "Pack again when nothing writes to the tree."}
	}
	cause := err
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		cause = e.Err
	}
	return &Error{fmt.Sprintf("%s cannot be read: %v", clip(name), cause), "Make it readable, or leave it out: .runnerhubignore can name it."}
}

const pack = "Leave out what the job does not need; .runnerhubignore can name it."

// Spend adds a file, folder or link with its size, or refuses it.
func (b *Budget) Spend(name string, bytes int64) error {
	if b.Files++; b.Files > b.Limits.Files {
		return &Error{fmt.Sprintf("it has more than %d files, which is the limit", b.Limits.Files), pack}
	}
	if b.Bytes += bytes; b.Bytes > b.Limits.Bytes {
		return &Error{fmt.Sprintf("it is larger than %s, which is the limit, with %s", units.BytesSize(float64(b.Limits.Bytes)), clip(name)), pack}
	}
	return nil
}

// Inside says whether a link that lies in a real folder of a tree, by its path and
// its target, leads to a place in that tree. Other links on the way do not change
// that, as each is held to it and none is gone back from: a target that goes up
// after it went down is refused, since where it was by then is another link's affair.
func Inside(name, target string) bool {
	target = filepath.ToSlash(target)
	if target == "" || path.IsAbs(target) || filepath.VolumeName(target) != "" {
		return false
	}
	depth, down := strings.Count(path.Clean(name), "/"), false
	for element := range strings.SplitSeq(target, "/") {
		switch element {
		case "", ".":
		case "..":
			if depth--; down || depth < 0 {
				return false
			}
		default:
			down = true
		}
	}
	return true
}

// clip quotes a name that an error repeats, shortened.
func clip(name string) string {
	const most = 200
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "…"
	}
	return fmt.Sprintf("%q", name)
}
