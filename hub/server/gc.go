package server

import (
	"os"
	"runtime/debug"
)

// gcPercent lets the heap grow to five times what is live before it is collected. A hub keeps little and allocates
// much, for JSON above all: with Go's default of 100 collecting takes a fifth of its time.
const gcPercent = 400

// tuneGC sets it for the process, which a hub has to itself. Whoever sets GOGC knows better.
func tuneGC() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
