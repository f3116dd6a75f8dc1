package agent

import (
	"os"
	"path/filepath"
)

// lockSpool takes the spool for this process, or is ErrLocked. The lock is the
// system's and ends with the process, however that ends, so nothing has to be cleaned up.
func lockSpool(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
