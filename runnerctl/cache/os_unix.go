//go:build unix

package cache

import (
	"errors"
	"os"
	"syscall"
)

// lockShared marks f as being read. It waits for nobody: who could be in the way wants the store's lock first.
func lockShared(f *os.File) error { return lock(f, syscall.LOCK_SH) }

// lockAlone takes f for this process alone, or is errInUse.
func lockAlone(f *os.File) error { return lock(f, syscall.LOCK_EX) }

func lock(f *os.File, how int) error {
	err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errInUse
	}
	return err
}

// syncDir makes names in dir survive a loss of power.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
