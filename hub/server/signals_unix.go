//go:build unix

package server

import (
	"os"
	"syscall"
)

// stopSignals are what asks the hub to drain.
func stopSignals() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM} }
