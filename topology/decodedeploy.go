package topology

// deployment is the part of deploy that matters to a job.
type deployment struct {
	replicas int
	limits   Resources
	gpus     *GPUs
}

func (d *decoder) deploy(v value) (out deployment) {
	limits := fields{
		"cpus":   func(v value) { out.limits.CPUs = d.cpus(v) },
		"memory": func(v value) { out.limits.Memory = d.size(v, MinMemory, MaxMemory) },
		"pids":   func(v value) { out.limits.Pids = d.pids(v) },
	}
	reservations := fields{"devices": func(v value) { out.gpus = d.gpuRequests(v) }}
	noReserve := strangers{refused: map[string]string{
		"cpus": "nothing is reserved; write limits", "memory": "nothing is reserved; write limits", "generic_resources": "nothing is reserved",
	}}
	d.object(v, fields{
		"replicas": func(v value) { out.replicas = int(d.integer(v, 1, MaxServices)) },
		"resources": func(v value) {
			d.object(v, fields{
				"limits":       func(v value) { d.object(v, limits, resourceStrangers) },
				"reservations": func(v value) { d.object(v, reservations, noReserve) },
			}, strangers{})
		},
	}, strangers{refused: hints(ComposeDeploy())})
	return out
}
