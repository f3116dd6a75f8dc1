package topology

import (
	"fmt"
	"strings"
)

// OpKind is what an operation asks of the engine.
type OpKind string

// The operations. Each is one call of Engine's, but for the awaits, which go on
// until a service is in the state that another waits for.
const (
	OpPull            OpKind = "pull"
	OpCreateNetwork   OpKind = "create network"
	OpCreateVolume    OpKind = "create volume"
	OpCreateContainer OpKind = "create container"
	OpOpenDir         OpKind = "open directory"
	OpBuild           OpKind = "build"
	OpCopy            OpKind = "copy"
	OpFill            OpKind = "fill"
	OpRestore         OpKind = "restore"
	OpStart           OpKind = "start"
	OpAwaitHealthy    OpKind = "await healthy"
	OpAwaitCompleted  OpKind = "await completed"
	OpRemoveContainer OpKind = "remove container"
	OpRemoveNetwork   OpKind = "remove network"
	OpRemoveVolume    OpKind = "remove volume"
	OpRemoveImage     OpKind = "remove image"
)

// Op is one operation of a plan.
type Op struct {
	Kind OpKind
	// Target is the image's reference or the resource's name.
	Target string
	// Service is the service concerned; empty is the job container or neither.
	Service string
	// Cause says why, for people and for tests.
	Cause string
	// After lists the operations of the plan, by index, that must have succeeded.
	After []int

	Network   *NetworkSpec   // of OpCreateNetwork
	Volume    *VolumeSpec    // of OpCreateVolume
	Container *ContainerSpec // of OpCreateContainer
	Dir       string         // of OpOpenDir and OpFill, and where OpCopy unpacks
	Platform  string         // of OpPull and OpBuild; "" is the engine's own
	Copies    []Copy         // of OpCopy
	Build     *Build         // of OpBuild
	User      string         // of OpFill and OpRestore: whom the files are to belong to; "" is root
	Health    *Healthcheck   // of OpAwaitHealthy; Test is an argv, durations and counts are set
}

// Copy is a file, or the files of a folder, that are put into a container.
type Copy struct {
	Source   string // of the attempt's source; "" means Content
	Content  string
	Target   string // absolute: of a file, or of the folder that what is in Source goes to
	UID, GID string // "" is 0
	Mode     string // octal, of a file; "" is as it is in the source
}

// Plan is operations in an order that respects Op.After. It is data: what to do
// is decided when it is made, and Execute decides nothing.
type Plan []Op

// add appends op and returns its index.
func (p *Plan) add(op Op) int {
	*p = append(*p, op)
	return len(*p) - 1
}

// Container returns the container called name as the plan creates it, nil for none.
func (p Plan) Container(name string) *ContainerSpec {
	for _, op := range p {
		if op.Kind == OpCreateContainer && op.Target == name {
			return op.Container
		}
	}
	return nil
}

// String is the plan's text, one operation a line, to compare and to log.
func (p Plan) String() string {
	var b strings.Builder
	for i, op := range p {
		fmt.Fprintf(&b, "%d %s %s", i+1, op.Kind, op.Target)
		for j, after := range op.After {
			sep := ","
			if j == 0 {
				sep = " after "
			}
			fmt.Fprintf(&b, "%s%d", sep, after+1)
		}
		fmt.Fprintf(&b, ": %s\n", op.Cause)
	}
	return b.String()
}
