package topology

// Snapshot is what was observed on an engine at one moment.
type Snapshot struct {
	Containers []ObservedContainer
	Networks   []ObservedNetwork
	Volumes    []ObservedVolume
}

// ObservedContainer is a container in a snapshot.
type ObservedContainer struct {
	Name     string
	Labels   map[string]string
	Running  bool
	Networks []string // names
	Volumes  []string // names
}

// ObservedNetwork is a network in a snapshot.
type ObservedNetwork struct {
	Name   string
	Labels map[string]string
}

// ObservedVolume is a volume in a snapshot.
type ObservedVolume struct {
	Name   string
	Labels map[string]string
}

// Count returns how many resources of each sort there are.
func (s Snapshot) Count() Leaks {
	return Leaks{Containers: len(s.Containers), Networks: len(s.Networks), Volumes: len(s.Volumes)}
}

// Among returns the part of s that names has too, by name. One attempt may have
// been executed twice, and each execution answers for its own resources.
func (s Snapshot) Among(names Snapshot) Snapshot {
	known := map[string]bool{}
	for _, c := range names.Containers {
		known[c.Name] = true
	}
	for _, n := range names.Networks {
		known[n.Name] = true
	}
	for _, v := range names.Volumes {
		known[v.Name] = true
	}
	var out Snapshot
	for _, c := range s.Containers {
		if known[c.Name] {
			out.Containers = append(out.Containers, c)
		}
	}
	for _, n := range s.Networks {
		if known[n.Name] {
			out.Networks = append(out.Networks, n)
		}
	}
	for _, v := range s.Volumes {
		if known[v.Name] {
			out.Volumes = append(out.Volumes, v)
		}
	}
	return out
}

// Total is the number of leaked resources of all sorts.
func (l Leaks) Total() int { return l.Containers + l.Networks + l.Volumes }

// Observed is all that an attempt's plan is made from besides its spec.
type Observed struct {
	Engine EngineInfo
	Images map[string]Image // by reference; only those that are present
	// Network is a ready network that is reserved for the attempt; "" when there is none.
	Network string
	// Metadata says that containers may reach where clouds tell a machine its credentials.
	Metadata bool
}
