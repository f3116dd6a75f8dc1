//go:build unix

package doctor

import "golang.org/x/sys/unix"

// freeSpace is what this user may still write below dir, in bytes.
func freeSpace(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(uint64(s.Bavail) * uint64(s.Bsize)), nil //nolint:unconvert // their types differ by system
}
