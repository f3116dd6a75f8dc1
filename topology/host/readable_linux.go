package host

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
)

// readable is a job's files as a file system to walk through. What the job has closed to its own user is opened
// to it again, as a container engine reads everything: such a file must not keep the others from being kept.
type readable struct{ root *os.Root }

// Open opens a file or a folder to be read.
func (r readable) Open(name string) (fs.File, error) { return r.open(name) }

func (r readable) open(name string) (*os.File, error) {
	const how = os.O_RDONLY | syscall.O_NONBLOCK // of a pipe the open would wait for a writer
	f, err := r.root.OpenFile(name, how, 0)
	if !errors.Is(err, fs.ErrPermission) {
		return f, err
	}
	info, statErr := r.root.Lstat(name)
	if statErr != nil {
		return nil, err
	}
	mode := info.Mode().Perm() | 0o400
	if info.IsDir() {
		mode |= 0o100
	}
	if r.root.Chmod(name, mode) != nil {
		return nil, err
	}
	return r.root.OpenFile(name, how, 0)
}

// ReadDir lists a folder.
func (r readable) ReadDir(name string) ([]fs.DirEntry, error) {
	f, err := r.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := f.ReadDir(-1)
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, err
}

// Stat describes what is there, a link too.
func (r readable) Stat(name string) (fs.FileInfo, error) { return r.root.Lstat(name) }
