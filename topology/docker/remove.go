package docker

import (
	"context"
	"strconv"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/volume"

	"github.com/runnerhub/runnerhub/topology"
)

// Observe lists what carries the labels that filter asks for.
func (e *Engine) Observe(ctx context.Context, filter topology.Filter) (topology.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var s topology.Snapshot
	args := labelFilter(filter)
	containers, err := e.client.ContainerList(ctx, container.ListOptions{All: true, Filters: args})
	if err != nil {
		return s, wrap("list containers", err)
	}
	for _, c := range containers {
		o := topology.ObservedContainer{Name: c.ID, Labels: c.Labels, Running: c.State == "running", Started: c.State != "created"}
		if len(c.Names) > 0 {
			o.Name = c.Names[0][1:] // the engine puts a slash in front
		}
		if c.NetworkSettings != nil {
			for n := range c.NetworkSettings.Networks {
				o.Networks = append(o.Networks, n)
			}
		}
		for _, m := range c.Mounts {
			if m.Type == mount.TypeVolume {
				o.Volumes = append(o.Volumes, m.Name)
			}
		}
		s.Containers = append(s.Containers, o)
	}
	networks, err := e.client.NetworkList(ctx, network.ListOptions{Filters: args})
	if err != nil {
		return s, wrap("list networks", err)
	}
	for _, n := range networks {
		s.Networks = append(s.Networks, topology.ObservedNetwork{Name: n.Name, Labels: n.Labels})
	}
	volumes, err := e.client.VolumeList(ctx, volume.ListOptions{Filters: args})
	if err != nil {
		return s, wrap("list volumes", err)
	}
	for _, v := range volumes.Volumes {
		s.Volumes = append(s.Volumes, topology.ObservedVolume{Name: v.Name, Labels: v.Labels})
	}
	if !filter.Images {
		return s, nil
	}
	images, err := e.client.ImageList(ctx, image.ListOptions{Filters: args})
	if err != nil {
		return s, wrap("list images", err)
	}
	for _, i := range images {
		for _, name := range i.RepoTags { // what has none goes with the one that has
			s.Images = append(s.Images, topology.ObservedImage{Name: name, Labels: i.Labels})
		}
	}
	return s, nil
}

func labelFilter(f topology.Filter) filters.Args {
	args := filters.NewArgs()
	add := func(label, value string) {
		if value != "" {
			label += "=" + value
		}
		args.Add("label", label)
	}
	add(topology.LabelHub, f.Hub)
	if f.Runner != "" {
		add(topology.LabelRunner, f.Runner)
	}
	if f.Set != "" {
		add(topology.LabelSet, f.Set)
	}
	if f.Job != "" {
		add(topology.LabelJob, f.Job)
		add(topology.LabelAttempt, strconv.Itoa(f.Attempt))
		add(topology.LabelEpoch, strconv.FormatInt(f.Epoch, 10))
	}
	return args
}

// NetworkInUse says whether a container, running or not, is attached.
func (e *Engine) NetworkInUse(ctx context.Context, name string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	n, err := e.client.NetworkInspect(ctx, name, network.InspectOptions{})
	if err != nil {
		return false, wrap("inspect network "+name, err)
	}
	return len(n.Containers) > 0, nil
}

// RemoveContainer ends a container and removes it with its anonymous volumes.
func (e *Engine) RemoveContainer(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	e.signalled.Store(name, true)
	err := e.client.ContainerRemove(ctx, name, container.RemoveOptions{Force: true, RemoveVolumes: true})
	e.ooms.forget(name)
	if err == nil {
		e.signalled.Delete(name)
	}
	return wrap("remove container "+name, err)
}

// RemoveNetwork removes a network.
func (e *Engine) RemoveNetwork(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return wrap("remove network "+name, e.client.NetworkRemove(ctx, name))
}

// RemoveVolume removes a volume.
func (e *Engine) RemoveVolume(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return wrap("remove volume "+name, e.client.VolumeRemove(ctx, name, false))
}
