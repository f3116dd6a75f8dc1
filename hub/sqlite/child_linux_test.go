package sqlite

import (
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// limitFileSize makes every file of this process end at n bytes, which a write
// then meets as an error of the disk.
func limitFileSize(n uint64) error {
	signal.Ignore(syscall.SIGXFSZ)
	return unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: n, Max: n})
}
