package server

import "os"

// stopSignals are what asks the hub to drain: Ctrl-C and Ctrl-Break arrive as Interrupt.
func stopSignals() []os.Signal { return []os.Signal{os.Interrupt} }
