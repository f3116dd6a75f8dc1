package topologytest

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/runnerhub/runnerhub/topology"
)

// CreateNetwork keeps spec.
func (f *Fake) CreateNetwork(ctx context.Context, spec topology.NetworkSpec) error {
	if err := f.enter(ctx, "CreateNetwork", spec.Name); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, other := range f.networks {
		if other.Subnet != "" && overlap(other.Subnet, spec.Subnet) {
			return fault(topology.KindBusy, "create network "+spec.Name, "pool overlaps with other one on this address space")
		}
	}
	f.networks[spec.Name] = spec
	return nil
}

// Subnet is what a network was created with.
func (f *Fake) Subnet(network string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.networks[network].Subnet
}

func overlap(a, b string) bool {
	p, errP := netip.ParsePrefix(a)
	q, errQ := netip.ParsePrefix(b)
	return errP == nil && errQ == nil && p.Overlaps(q)
}

// CreateVolume keeps spec.
func (f *Fake) CreateVolume(ctx context.Context, spec topology.VolumeSpec) error {
	if err := f.enter(ctx, "CreateVolume", spec.Name); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.volumes[spec.Name] = spec
	return nil
}

// CreateContainer keeps spec if what it names is there.
func (f *Fake) CreateContainer(ctx context.Context, spec topology.ContainerSpec) error {
	op := "create container " + spec.Name
	if err := f.enter(ctx, "CreateContainer", spec.Name); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, present := f.images[spec.Image]; !present {
		return fault(topology.KindNotFound, op, "no such image: "+spec.Image)
	}
	if _, present := f.networks[spec.Network]; !present && spec.Network != "" {
		return fault(topology.KindNotFound, op, "no such network: "+spec.Network)
	}
	if other := f.containers[spec.NetworkOf]; spec.NetworkOf != "" {
		if other == nil {
			return fault(topology.KindNotFound, op, "no such container: "+spec.NetworkOf)
		}
		spec.Hostname = other.spec.Hostname
	}
	if f.containers[spec.Name] != nil {
		return fault(topology.KindBusy, op, "the name is in use")
	}
	c := newFakeContainer(f, spec)
	for _, file := range f.imageFiles[spec.Image] {
		c.put(file)
	}
	f.containers[spec.Name] = c
	return nil
}

// OpenDir checks that the container is there.
func (f *Fake) OpenDir(ctx context.Context, name, dir string) error {
	if err := f.enter(ctx, "OpenDir", name+" "+dir); err != nil {
		return err
	}
	_, err := f.container("open directory "+dir, name)
	return err
}

func (f *Fake) container(op, name string) (*fakeContainer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.containers[name]
	if c == nil {
		return nil, fault(topology.KindNotFound, op, "no such container: "+name)
	}
	return c, nil
}

// Observe lists what matches, sorted by name.
func (f *Fake) Observe(ctx context.Context, filter topology.Filter) (topology.Snapshot, error) {
	var s topology.Snapshot
	if err := f.enter(ctx, "Observe", ""); err != nil {
		return s, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(f.containers)) {
		c := f.containers[name]
		if !matches(c.spec.Labels, filter) {
			continue
		}
		o := topology.ObservedContainer{Name: name, Labels: c.spec.Labels, Running: c.isRunning(), Started: c.wasStarted()}
		if c.spec.Network != "" {
			o.Networks = []string{c.spec.Network}
		}
		o.Volumes = slices.Sorted(maps.Values(c.spec.Volumes))
		for _, m := range c.spec.Mounts {
			if m.Type == topology.MountVolume && m.Source != "" {
				o.Volumes = append(o.Volumes, m.Source)
			}
		}
		s.Containers = append(s.Containers, o)
	}
	for _, name := range slices.Sorted(maps.Keys(f.networks)) {
		if labels := f.networks[name].Labels; matches(labels, filter) {
			s.Networks = append(s.Networks, topology.ObservedNetwork{Name: name, Labels: labels})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.volumes)) {
		if labels := f.volumes[name].Labels; matches(labels, filter) {
			s.Volumes = append(s.Volumes, topology.ObservedVolume{Name: name, Labels: labels})
		}
	}
	if filter.Images {
		for _, name := range slices.Sorted(maps.Keys(f.built)) {
			if labels := f.built[name].Labels; matches(labels, filter) {
				s.Images = append(s.Images, topology.ObservedImage{Name: name, Labels: labels})
			}
		}
	}
	return s, nil
}

func matches(labels map[string]string, f topology.Filter) bool {
	if _, ours := labels[topology.LabelHub]; !ours {
		return false
	}
	equal := func(label, want string) bool { return want == "" || labels[label] == want }
	if !equal(topology.LabelHub, f.Hub) || !equal(topology.LabelRunner, f.Runner) || !equal(topology.LabelSet, f.Set) {
		return false
	}
	return f.Job == "" || labels[topology.LabelJob] == f.Job &&
		labels[topology.LabelAttempt] == strconv.Itoa(f.Attempt) &&
		labels[topology.LabelEpoch] == strconv.FormatInt(f.Epoch, 10)
}

// NetworkInUse says whether a running container is on the network.
func (f *Fake) NetworkInUse(ctx context.Context, name string) (bool, error) {
	if err := f.enter(ctx, "NetworkInUse", name); err != nil {
		return false, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, present := f.networks[name]; !present {
		return false, fault(topology.KindNotFound, "inspect network "+name, "no such network")
	}
	return f.networkUsed(name), nil
}

// networkUsed wants f.mu held. A container is on its network only while it runs,
// as with Docker.
func (f *Fake) networkUsed(name string) bool {
	for _, c := range f.containers {
		if c.spec.Network == name && c.isRunning() {
			return true
		}
	}
	return false
}

// RemoveContainer kills and removes a container.
func (f *Fake) RemoveContainer(ctx context.Context, name string) error {
	if err := f.enter(ctx, "RemoveContainer", name); err != nil {
		return err
	}
	c, err := f.container("remove container "+name, name)
	if err != nil {
		return err
	}
	c.kill()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.containers, name)
	return nil
}

// RemoveNetwork removes a network that no running container is on.
func (f *Fake) RemoveNetwork(ctx context.Context, name string) error {
	if err := f.enter(ctx, "RemoveNetwork", name); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, present := f.networks[name]; !present {
		return fault(topology.KindNotFound, "remove network "+name, "no such network")
	}
	if f.networkUsed(name) {
		return fault(topology.KindBusy, "remove network "+name, "has active endpoints")
	}
	delete(f.networks, name)
	return nil
}

// RemoveVolume removes a volume that no container has mounted.
func (f *Fake) RemoveVolume(ctx context.Context, name string) error {
	if err := f.enter(ctx, "RemoveVolume", name); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, present := f.volumes[name]; !present {
		return fault(topology.KindNotFound, "remove volume "+name, "no such volume")
	}
	for _, c := range f.containers {
		for _, used := range c.spec.Volumes {
			if used == name {
				return fault(topology.KindBusy, "remove volume "+name, "volume is in use")
			}
		}
	}
	delete(f.volumes, name)
	delete(f.trees, name)
	return nil
}

// DiskUsage tells what SetDisk set.
func (f *Fake) DiskUsage(ctx context.Context, containers []string) (map[string]int64, error) {
	if err := f.enter(ctx, "DiskUsage", strings.Join(containers, " ")); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	used := map[string]int64{}
	for _, name := range containers {
		if f.containers[name] == nil {
			continue
		}
		used[name] = 0
		for part, bytes := range f.disk {
			if strings.Contains(name, part) {
				used[name] = bytes
			}
		}
	}
	return used, nil
}

// DiskFree tells what SetFree set.
func (f *Fake) DiskFree(ctx context.Context) (int64, error) {
	if err := f.enter(ctx, "DiskFree", ""); err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.free, nil
}
