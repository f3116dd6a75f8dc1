package topology

import "slices"

// Snapshot is what was observed on an engine at one moment.
type Snapshot struct {
	Containers []ObservedContainer
	Networks   []ObservedNetwork
	Volumes    []ObservedVolume
	Images     []ObservedImage // where Filter.Images asks for them
}

// ObservedContainer is a container in a snapshot.
type ObservedContainer struct {
	Name     string
	Labels   map[string]string
	Running  bool
	Started  bool     // at some time, whether or not it still runs
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

// ObservedImage is an image that was built for an attempt, in a snapshot.
type ObservedImage struct {
	Name   string
	Labels map[string]string
}

// Count returns how many resources of each sort there are.
func (s Snapshot) Count() Leaks {
	return Leaks{Containers: len(s.Containers), Networks: len(s.Networks), Volumes: len(s.Volumes), Images: len(s.Images)}
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
	for _, i := range names.Images {
		known[i.Name] = true
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
	for _, i := range s.Images {
		if known[i.Name] {
			out.Images = append(out.Images, i)
		}
	}
	return out
}

// With returns s and what other has besides, by name.
func (s Snapshot) With(other Snapshot) Snapshot {
	known := s
	for _, c := range other.Containers {
		if !slices.ContainsFunc(known.Containers, func(o ObservedContainer) bool { return o.Name == c.Name }) {
			s.Containers = append(s.Containers, c)
		}
	}
	s.Networks = append(s.Networks, other.Networks...)
	for _, v := range other.Volumes {
		if !slices.ContainsFunc(known.Volumes, func(o ObservedVolume) bool { return o.Name == v.Name }) {
			s.Volumes = append(s.Volumes, v)
		}
	}
	s.Images = append(s.Images, other.Images...)
	return s
}

// Total is the number of leaked resources of all sorts.
func (l Leaks) Total() int { return l.Containers + l.Networks + l.Volumes + l.Images }

// Observed is all that an attempt's plan is made from besides its spec.
type Observed struct {
	Engine EngineInfo
	Images map[string]Image // by reference; only those that are present
	// Files are the mounted parts of the source that are files; all others are folders.
	Files map[string]bool
	// Network is a ready network that is reserved for the attempt; "" when there is none.
	Network string
	// Warm says that the reused services are there already, on Network, and ready.
	Warm bool
	// Pod is a running container that the job shares the network of; "" is none. It is the
	// only member of the attempt's set, and only for a job without services.
	Pod string
	// Metadata says that containers may reach where clouds tell a machine its credentials.
	Metadata bool
	// Source says that there is a tree for the workspace to start with.
	Source bool
}
