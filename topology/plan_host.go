package topology

// OnHost says that the job names no image and runs on the machine itself.
func (s *Spec) OnHost() bool { return s.Image == "" }

// planHost plans a job without an image: what an engine calls a container is then a
// folder of the attempt's own, and the processes that begin in it.
func planHost(spec *Spec, id Identity, names Names, observed Observed) Plan {
	var plan Plan
	container := jobContainer(spec, id, names, observed)
	container.Hostname, container.Volumes, container.Init = "", nil, false
	last := plan.add(Op{Kind: OpCreateContainer, Target: names.Job, Cause: "the job, on the machine itself", Container: &container})
	if observed.Source {
		last = plan.add(Op{
			Kind: OpFill, Target: names.Job, Dir: container.WorkingDir, After: []int{last}, Cause: "the job starts in its source",
		})
	}
	plan.add(Op{Kind: OpStart, Target: names.Job, After: []int{last}, Cause: "everything that it needs is there"})
	return plan
}
