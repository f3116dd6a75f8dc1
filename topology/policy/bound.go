package policy

import (
	"fmt"
	"maps"

	"github.com/runnerhub/runnerhub/topology"
)

// leastMemory is what a container engine accepts as a limit, in bytes.
const leastMemory = topology.MinMemory

// Bound gives the containers of a job limits where they name none, so that all
// together stay below the policy's ceiling: what the others leave is shared out
// in equal parts. The spec itself is left alone. The violation says that nothing is left.
func Bound(p *Policy, spec *topology.Spec) (*topology.Spec, *Violation) {
	if p == nil || p.Ceiling.CPUs == 0 && p.Ceiling.Memory == 0 {
		return spec, nil
	}
	out := *spec
	out.Services = maps.Clone(spec.Services)
	var cpus float64
	var memory int64
	freeCPUs, freeMemory := 0, 0 // containers without a limit
	count := func(r topology.Resources) {
		cpus += r.CPUs
		memory += r.Memory
		if r.CPUs == 0 {
			freeCPUs++
		}
		if r.Memory == 0 {
			freeMemory++
		}
	}
	count(spec.Resources)
	for _, s := range spec.Services {
		count(s.Resources)
	}
	var shareCPUs float64
	var shareMemory int64
	if p.Ceiling.CPUs > 0 && freeCPUs > 0 {
		if shareCPUs = (p.Ceiling.CPUs - cpus) / float64(freeCPUs); shareCPUs < topology.MinCPUs {
			return nil, exhausted(RuleCeilingCPUs, freeCPUs, fmt.Sprintf("%g cores", p.Ceiling.CPUs))
		}
	}
	if p.Ceiling.Memory > 0 && freeMemory > 0 {
		if shareMemory = (p.Ceiling.Memory - memory) / int64(freeMemory); shareMemory < leastMemory {
			return nil, exhausted(RuleCeilingMemory, freeMemory, bytesText(p.Ceiling.Memory)+" of memory")
		}
	}
	fill := func(r *topology.Resources) {
		if r.CPUs == 0 {
			r.CPUs = shareCPUs
		}
		if r.Memory == 0 {
			r.Memory = shareMemory
		}
	}
	fill(&out.Resources)
	for name, s := range out.Services {
		fill(&s.Resources)
		out.Services[name] = s
	}
	return &out, nil
}

func exhausted(r Rule, containers int, ceiling string) *Violation {
	return &Violation{
		Rule:    r,
		Message: fmt.Sprintf("its containers ask for all of the ceiling (%s), and %d of them without a limit of its own would get nothing", ceiling, containers),
		Allow:   "runnerctl policy set " + string(r) + "=…",
	}
}
