//go:build !linux

package host

import (
	"fmt"
	"runtime"

	"github.com/runnerhub/runnerhub/topology"
)

// Supported says that this system can run jobs without an image. Others than Linux have no
// way to find all that a job has started.
const Supported = false

// Open is an error here.
func Open(string, func() (string, error)) (topology.Engine, error) {
	return nil, &topology.EngineError{
		Kind: topology.KindInvalid, Op: "run jobs without an image",
		Err:  fmt.Errorf("not supported on %s: a job's processes could not be found again to be ended", runtime.GOOS),
		Hint: "Name an image in the job.",
	}
}

// Helper does nothing here.
func Helper() (code int, was bool) { return 0, false }
