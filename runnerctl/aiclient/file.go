package aiclient

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/runnerhub/runnerhub/runnerctl/atomicfile"
)

// ErrChanged says that somebody else has written the file in the meantime.
var ErrChanged = errors.New("the file was changed in the meantime")

// Read returns the text of a client's file; one that is not there has none.
func Read(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// Replace writes a client's file whose text was before. A crash leaves the old one or the new one. A link stays one, and
// a file keeps its mode; a new one is for its owner alone. If the text is another one by now it is ErrChanged.
func Replace(path string, before, after []byte) error {
	if _, err := os.Lstat(path); err == nil {
		to, err := filepath.EvalSymlinks(path)
		if err != nil {
			return fmt.Errorf("%s is a link that leads nowhere: %w", path, err)
		}
		path = to
	}
	now, err := Read(path)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, before) {
		return ErrChanged
	}
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(path, after, mode)
}
