//go:build unix

package runnerctl

import (
	"os"
	"syscall"
)

// signals are what asks the program to stop.
func signals() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM} }
