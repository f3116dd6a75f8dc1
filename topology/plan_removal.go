package topology

import "slices"

// PlanRemoval plans the end of everything in observed. Networks and volumes come
// after the containers that use them.
func PlanRemoval(observed Snapshot, cause string) Plan {
	var plan Plan
	networks := map[string][]int{}
	volumes := map[string][]int{}
	var containers []int
	for _, c := range observed.Containers {
		i := plan.add(Op{Kind: OpRemoveContainer, Target: c.Name, Cause: cause})
		containers = append(containers, i)
		for _, n := range c.Networks {
			networks[n] = append(networks[n], i)
		}
		for _, v := range c.Volumes {
			volumes[v] = append(volumes[v], i)
		}
	}
	for _, n := range observed.Networks {
		plan.add(Op{Kind: OpRemoveNetwork, Target: n.Name, After: networks[n.Name], Cause: cause})
	}
	for _, v := range observed.Volumes {
		plan.add(Op{Kind: OpRemoveVolume, Target: v.Name, After: volumes[v.Name], Cause: cause})
	}
	for _, i := range observed.Images {
		plan.add(Op{Kind: OpRemoveImage, Target: i.Name, After: containers, Cause: cause})
	}
	return plan
}

// Leftovers returns the part of observed that no one owns any more: what belongs
// to this hub's runner, to none of the live attempts, is not a ready network or of a set
// of services in keep, and is not used by a container that stays.
func Leftovers(observed Snapshot, hub, runner string, live []Identity, keep []string) Snapshot {
	return unused(observed, keep, func(labels map[string]string) bool {
		return labels[LabelHub] == hub && labels[LabelRunner] == runner && hub != "" && runner != "" &&
			!slices.Contains(live, IdentityOf(labels))
	})
}

// unused returns what of observed can go, but for what is in keep, for networks and
// volumes that a container uses which stays, and for sets of services that an attempt
// has which stays.
func unused(observed Snapshot, keep []string, owned func(labels map[string]string) bool) Snapshot {
	var left Snapshot
	used := slices.Clone(keep)
	held := heldSets(observed, owned)
	goes := func(labels map[string]string) bool {
		set := labels[LabelSet]
		return owned(labels) && (set == "" || !held[set] && !slices.Contains(keep, set))
	}
	for _, c := range observed.Containers {
		if goes(c.Labels) {
			left.Containers = append(left.Containers, c)
			continue
		}
		used = append(append(used, c.Networks...), c.Volumes...)
	}
	for _, n := range observed.Networks {
		if goes(n.Labels) && !slices.Contains(used, n.Name) {
			left.Networks = append(left.Networks, n)
		}
	}
	for _, v := range observed.Volumes {
		if goes(v.Labels) && !slices.Contains(used, v.Name) {
			left.Volumes = append(left.Volumes, v)
		}
	}
	for _, i := range observed.Images {
		if goes(i.Labels) {
			left.Images = append(left.Images, i)
		}
	}
	return left
}

// heldSets are the sets that an attempt has which stays, though their labels do not say so:
// its container shares a network with them, or names the set.
func heldSets(observed Snapshot, goes func(labels map[string]string) bool) map[string]bool {
	networks, held := map[string]bool{}, map[string]bool{}
	for _, c := range observed.Containers {
		switch set := c.Labels[LabelSet]; {
		case set != "" && c.Labels[LabelJob] == "" || goes(c.Labels): // a member, or nobody's
		case set != "": // it says so itself
			held[set] = true
		default:
			for _, n := range c.Networks {
				networks[n] = true
			}
		}
	}
	for _, c := range observed.Containers {
		if set := c.Labels[LabelSet]; set != "" && slices.ContainsFunc(c.Networks, func(n string) bool { return networks[n] }) {
			held[set] = true
		}
	}
	return held
}
