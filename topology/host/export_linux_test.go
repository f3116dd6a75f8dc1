package host

import "github.com/runnerhub/runnerhub/topology"

// WithoutGroups makes an engine one of a runner that may make no control groups.
func WithoutGroups(e topology.Engine) { e.(*Engine).groups = &hierarchy{} }

// HasGroup says whether control groups with a controller can be made here.
func HasGroup(controller string) bool {
	e := &Engine{}
	defer func() { _ = e.Close() }()
	return e.hierarchy().bases[controller] != ""
}
