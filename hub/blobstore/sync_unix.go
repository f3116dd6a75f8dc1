//go:build unix

package blobstore

import (
	"errors"
	"os"
	"syscall"
)

// syncDir writes the names in a folder to disk. Some network file systems cannot do that for a folder, and need not.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}
