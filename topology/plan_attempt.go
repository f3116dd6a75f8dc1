package topology

import (
	"fmt"
	"maps"
	"slices"
)

// Names are what the resources of one execution are called.
type Names struct {
	Network, Volume, Job string
	Services             map[string]string
	// Set is the set that reused services belong to; "" is none: they go with the attempt.
	Set string `json:",omitempty"`
}

// NamesFor derives the names from the identity and a tag of NewTag's.
func NamesFor(spec *Spec, id Identity, tag string) Names {
	prefix := id.prefix(tag)
	n := Names{Network: prefix + "-net", Volume: prefix + "-work", Job: prefix + "-job", Services: map[string]string{}}
	for name := range spec.Services {
		n.Services[name] = prefix + "-svc-" + nameSafe(name)
	}
	return n
}

// PlanAttempt plans everything up to the start of the job container, which is the
// plan's last operation. spec is unfolded. Services start as their depends_on allows, and the job
// container is created meanwhile. All images must be in observed.
func PlanAttempt(spec *Spec, id Identity, names Names, observed Observed) (Plan, *Failure) {
	if spec.OnHost() {
		return planHost(spec, id, names, observed), nil
	}
	order, failure := startOrder(spec.Services)
	if failure != nil {
		return nil, failure
	}
	for _, ref := range spec.images() {
		if failure := observed.Engine.foreign(ref, observed.Images[ref]); failure != nil {
			return nil, failure
		}
	}
	b := attemptPlan{
		spec: spec, id: id, names: names, observed: observed,
		ready: map[string][]int{}, started: map[string]int{}, partVolumes: map[string]string{},
	}
	b.resources()
	b.volumes()
	job := b.job()
	b.workspace = job
	for _, name := range order {
		b.service(name)
	}
	after := []int{job}
	for _, name := range order {
		after = append(after, b.ready[name]...)
	}
	cause := "everything that it needs is there"
	if len(order) > 0 {
		cause = "its services are ready"
	}
	b.plan.add(Op{Kind: OpStart, Target: names.Job, After: after, Cause: cause})
	return b.plan, nil
}

// attemptPlan is a plan in the making.
type attemptPlan struct {
	spec     *Spec
	id       Identity
	names    Names
	observed Observed
	plan     Plan

	network string
	created []int // operations that every container comes after
	volume  int   // the operation that makes the workspace
	// workspace is the operation after which the workspace has what the job starts with.
	workspace   int
	shared      map[string]int    // the operation that makes a volume of the spec's
	filled      map[string]int    // the operation after which a folder of the source is in its volume
	kept        map[string]bool   // volumes of the spec that stay with reused services
	partVolumes map[string]string // folder of the source → volume
	started     map[string]int    // the operation that starts a service
	ready       map[string][]int  // the operations after which a service is ready
}

func (b *attemptPlan) resources() {
	switch {
	case b.spec.Network == NetworkNone:
	case b.observed.Network != "":
		b.network = b.observed.Network
	default:
		b.network = b.names.Network
		internal := b.spec.Network == NetworkRestricted
		cause := "no ready network"
		if internal {
			cause = "no ready network; network: restricted"
		}
		b.created = append(b.created, b.plan.add(Op{
			Kind: OpCreateNetwork, Target: b.network, Cause: cause,
			Network: &NetworkSpec{Name: b.network, Internal: internal, Labels: b.id.Labels(RoleNetwork)},
		}))
	}
	b.volume = b.plan.add(Op{
		Kind: OpCreateVolume, Target: b.names.Volume, Cause: "the working directory is the attempt's own",
		Volume: &VolumeSpec{Name: b.names.Volume, Labels: b.id.Labels(RoleWorkspace), Limit: b.spec.Resources.Disk},
	})
}

// noResolver is asked for names beyond a restricted network: nobody answers there. Left
// to themselves some engines would ask the machine's own name servers, and what can
// ask for any name can tell anything to whoever answers for it.
const noResolver = "127.0.0.1"

// connect puts a container on the attempt's network and bounds what it reaches there.
func (b *attemptPlan) connect(c *ContainerSpec) {
	c.Network = b.network
	switch {
	case b.network == "":
	case b.spec.Network == NetworkRestricted:
		c.Resolvers = []string{noResolver}
	default:
		c.NoMetadata = !b.observed.Metadata
	}
}

// job creates the job container and returns the operation that its start comes after.
func (b *attemptPlan) job() int {
	container := jobContainer(b.spec, b.id, b.names, b.observed)
	b.connect(&container)
	switch {
	case b.observed.Pod != "": // which has the name on the network
		container.NetworkOf, container.Network, container.Resolvers, container.Hostname = b.observed.Pod, "", nil, ""
		container.Labels[LabelSet] = b.names.Set
	case b.network != "":
		container.Aliases = []string{"job"}
	}
	i := b.plan.add(Op{
		Kind: OpCreateContainer, Target: b.names.Job, After: append(slices.Clone(b.created), b.volume),
		Cause: "the job", Container: &container,
	})
	user := b.spec.User
	if user == "" {
		user = b.observed.Images[b.spec.Image].User
	}
	switch {
	case b.observed.Source:
		i = b.plan.add(Op{
			Kind: OpFill, Target: b.names.Job, Dir: container.WorkingDir, User: user, After: []int{i},
			Cause: "the job starts in its source",
		})
	case !isRoot(user):
		i = b.plan.add(Op{
			Kind: OpOpenDir, Target: b.names.Job, Dir: container.WorkingDir, After: []int{i},
			Cause: "the job runs as " + user + ", and a new volume is root's",
		})
	}
	if len(b.spec.Cache) > 0 {
		i = b.plan.add(Op{Kind: OpRestore, Target: b.names.Job, User: user, After: []int{i}, Cause: "cache"})
	}
	return i
}

func (b *attemptPlan) service(name string) {
	svc, target := b.spec.Services[name], b.names.Services[name]
	if svc.Reuse && b.observed.Warm {
		return // nothing is to be done, and nothing to be waited for
	}
	image := b.observed.Images[svc.Image]
	container := serviceContainer(b.spec, name, b.id, b.names)
	b.connect(&container)
	if svc.NetworkMode != "" { // none, or the machine's own
		container.Network, container.Aliases, container.NoMetadata, container.Resolvers = "", nil, false, nil
	}
	before, ready, copies := b.mounts(svc, &container)
	created := b.plan.add(Op{
		Kind: OpCreateContainer, Target: target, Service: name, After: append(slices.Clone(b.created), before...),
		Cause: "services." + name, Container: &container,
	})
	there := []int{created}
	for _, dir := range slices.Sorted(maps.Keys(copies)) {
		there = append(there, b.plan.add(Op{
			Kind: OpCopy, Target: target, Service: name, Dir: dir, After: []int{created}, Cause: "files of services." + name, Copies: copies[dir],
		}))
	}
	after, cause := slices.Concat(there, ready), "services."+name
	for _, on := range slices.Sorted(maps.Keys(svc.DependsOn)) {
		condition := svc.DependsOn[on].Condition
		if b.spec.Services[on].Reuse && b.observed.Warm {
			cause += fmt.Sprintf(", %s is there from before", on)
			continue
		}
		cause += fmt.Sprintf(", %s is %s", on, condition)
		if condition == ServiceStarted {
			after = append(after, b.started[on])
		} else {
			after = append(after, b.ready[on]...)
		}
	}
	start := b.plan.add(Op{Kind: OpStart, Target: target, Service: name, After: after, Cause: cause})
	b.started[name] = start
	b.ready[name] = []int{start}
	switch health := effectiveHealth(svc.Healthcheck, image); {
	case completes(b.spec.Services, name):
		b.ready[name] = []int{b.plan.add(Op{
			Kind: OpAwaitCompleted, Target: target, Service: name, After: []int{start},
			Cause: "a service waits for its end",
		})}
	case health != nil:
		from := "its healthcheck"
		if svc.Healthcheck == nil {
			from = "the image's healthcheck"
		}
		b.ready[name] = []int{b.plan.add(Op{
			Kind: OpAwaitHealthy, Target: target, Service: name, After: []int{start}, Cause: from, Health: health,
		})}
	}
}

// completes says whether a service waits for the end of name.
func completes(services map[string]Service, name string) bool {
	for _, other := range services {
		if other.DependsOn[name].Condition == ServiceCompleted {
			return true
		}
	}
	return false
}

// startOrder sorts services so that each comes after those that it depends on.
func startOrder(services map[string]Service) ([]string, *Failure) {
	var order []string
	state := map[string]int{} // 1 is being visited, 2 is done
	var visit func(name string) *Failure
	visit = func(name string) *Failure {
		svc, known := services[name]
		switch {
		case !known:
			return &Failure{Class: ClassSpecInvalid, Message: fmt.Sprintf("A service depends on %q, which is not declared.", name)}
		case state[name] == 1:
			return &Failure{Class: ClassSpecInvalid, Message: fmt.Sprintf("The service %q depends on itself, through others or directly.", name)}
		case state[name] == 2:
			return nil
		}
		state[name] = 1
		for _, on := range slices.Sorted(maps.Keys(svc.DependsOn)) {
			if failure := visit(on); failure != nil {
				return failure
			}
		}
		state[name] = 2
		order = append(order, name)
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(services)) {
		if failure := visit(name); failure != nil {
			return nil, failure
		}
	}
	return order, nil
}
