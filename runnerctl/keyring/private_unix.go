//go:build unix

package keyring

import (
	"fmt"
	"os"
)

// private refuses a file of secrets that others can read.
func private(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s can be read by others (mode %04o); run `chmod 600 %s`, and pair or sign in again if somebody may have read it",
			path, info.Mode().Perm(), path)
	}
	return nil
}
