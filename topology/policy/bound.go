package policy

import (
	"fmt"
	"maps"

	"github.com/runnerhub/runnerhub/topology"
)

// Bound gives the containers of a job limits where they name none, so that all
// together stay below the policy's ceiling: what the others leave is shared out
// in equal parts. The spec itself is left alone. The violation says that nothing is left.
func Bound(p *Policy, spec *topology.Spec) (*topology.Spec, *Violation) {
	if p == nil || p.Ceiling == (Ceiling{}) {
		return spec, nil
	}
	out := *spec
	out.Services = maps.Clone(spec.Services)
	for _, k := range kinds {
		if v := k.bound(p.Ceiling, &out); v != nil {
			return nil, v
		}
	}
	return &out, nil
}

// kind is a resource that a ceiling bounds.
type kind struct {
	rule    Rule
	ceiling func(Ceiling) float64
	get     func(topology.Resources) float64
	set     func(*topology.Resources, float64)
	least   float64 // that a container can have
	text    func(float64) string
}

var kinds = []kind{
	{
		RuleCeilingCPUs, func(c Ceiling) float64 { return c.CPUs },
		func(r topology.Resources) float64 { return r.CPUs }, func(r *topology.Resources, n float64) { r.CPUs = n },
		topology.MinCPUs, func(n float64) string { return fmt.Sprintf("%g cores", n) },
	},
	{
		RuleCeilingMemory, func(c Ceiling) float64 { return float64(c.Memory) },
		func(r topology.Resources) float64 { return float64(r.Memory) }, func(r *topology.Resources, n float64) { r.Memory = int64(n) },
		topology.MinMemory, func(n float64) string { return bytesText(int64(n)) + " of memory" },
	},
	{
		RuleCeilingDisk, func(c Ceiling) float64 { return float64(c.Disk) },
		func(r topology.Resources) float64 { return float64(r.Disk) }, func(r *topology.Resources, n float64) { r.Disk = int64(n) },
		topology.MinDisk, func(n float64) string { return bytesText(int64(n)) + " of disk" },
	},
}

// bound shares one resource out among the containers that name no limit of it.
func (k kind) bound(c Ceiling, spec *topology.Spec) *Violation {
	left, free := k.ceiling(c), 0
	if left == 0 {
		return nil
	}
	count := func(r topology.Resources, containers int) {
		n := k.get(r)
		if left -= n * float64(containers); n == 0 {
			free += containers
		}
	}
	count(spec.Resources, 1)
	for _, s := range spec.Services {
		count(s.Resources, max(s.Scale, 1))
	}
	if free == 0 {
		return nil
	}
	share := left / float64(free)
	if share < k.least {
		return &Violation{
			Rule: k.rule,
			Message: fmt.Sprintf("its containers ask for all of the ceiling (%s), and those without a limit of their own (%d) would get nothing",
				k.text(k.ceiling(c)), free),
			Allow: "runnerctl policy set " + string(k.rule) + "=",
		}
	}
	if k.get(spec.Resources) == 0 {
		k.set(&spec.Resources, share)
	}
	for name, s := range spec.Services {
		if k.get(s.Resources) == 0 {
			k.set(&s.Resources, share)
			spec.Services[name] = s
		}
	}
	return nil
}
