package runnerctl

import "os"

// signals are what asks the program to stop: Ctrl-C and Ctrl-Break arrive as Interrupt.
func signals() []os.Signal { return []os.Signal{os.Interrupt} }
