package cache

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// The lock is on a byte that no file has: others may read what is locked.
func lockedByte() *windows.Overlapped {
	return &windows.Overlapped{Offset: math.MaxUint32, OffsetHigh: math.MaxInt32}
}

// lockShared marks f as being read. It waits for nobody: who could be in the way wants the store's lock first.
func lockShared(f *os.File) error { return lock(f, 0) }

// lockAlone takes f for this process alone, or is errInUse.
func lockAlone(f *os.File) error { return lock(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

func lock(f *os.File, how uint32) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), how|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, lockedByte())
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errInUse
	}
	return err
}

// syncDir does nothing: a directory cannot be synced here.
func syncDir(string) error { return nil }
