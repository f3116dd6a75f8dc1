package topology

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// partsDir is where volumes are mounted in the container that they are filled through.
const partsDir = "/parts"

// volumes plans the volumes that services share: those that the spec declares, and a
// copy of each folder of the source that a service mounts. A folder is copied by way
// of a container that never runs, so that it can be mounted read-only everywhere.
func (b *attemptPlan) volumes() {
	b.shared, b.filled = map[string]int{}, map[string]int{}
	used := map[string]bool{}
	parts := map[string]bool{}
	for _, svc := range b.spec.Services {
		for _, m := range svc.Volumes {
			switch {
			case m.Type == MountVolume && m.Source != "":
				used[m.Source] = true
			case b.isPart(m):
				parts[m.Source] = true
			}
		}
	}
	b.kept = b.setVolumes()
	for _, name := range slices.Sorted(maps.Keys(used)) {
		if b.kept[name] && b.observed.Warm {
			continue
		}
		volume := b.volumeName(name)
		b.shared[name] = b.plan.add(Op{
			Kind: OpCreateVolume, Target: volume, Cause: "volumes." + name,
			Volume: &VolumeSpec{Name: volume, Labels: b.volumeLabels(name)},
		})
	}
	b.parts(slices.Sorted(maps.Keys(parts)))
}

func (b *attemptPlan) parts(folders []string) {
	if len(folders) == 0 {
		return
	}
	carrier := ContainerSpec{
		Name: b.names.carrier(), Image: b.spec.Image, Platform: b.spec.Platform, Command: []string{"true"}, // which is never run
		Volumes: map[string]string{}, Labels: b.id.Labels(RoleFiles),
	}
	var made []int
	for i, folder := range folders {
		volume := b.names.partOf(i)
		carrier.Volumes[partDir(i)] = volume
		made = append(made, b.plan.add(Op{
			Kind: OpCreateVolume, Target: volume, Cause: "services mount " + folder + " of the source",
			Volume: &VolumeSpec{Name: volume, Labels: b.id.Labels(RoleVolume)},
		}))
		b.partVolumes[folder] = volume
	}
	created := b.plan.add(Op{
		Kind: OpCreateContainer, Target: carrier.Name, After: made, Cause: "volumes are filled through it; it never runs", Container: &carrier,
	})
	for i, folder := range folders {
		b.filled[folder] = b.plan.add(Op{
			Kind: OpCopy, Target: carrier.Name, Dir: "/", After: []int{created}, Cause: folder + " of the source",
			Copies: []Copy{{Source: folder, Target: partDir(i)}},
		})
	}
}

func partDir(i int) string { return fmt.Sprintf("%s/%d", partsDir, i) }

// isPart says whether a mount is a folder of the source, but not its root.
func (b *attemptPlan) isPart(m Mount) bool {
	return m.fromSource() && m.Source != "." && !b.observed.Files[m.Source]
}

// mounts gives a service's container its volumes, and returns the operations that its
// start comes after. created are those that the container itself does. copies are the
// files to put into it, by the folder that they are unpacked in.
func (b *attemptPlan) mounts(svc Service, c *ContainerSpec) (created, started []int, copies map[string][]Copy) {
	var files []Copy
	for _, m := range svc.Volumes {
		switch {
		case m.Type == MountVolume && m.Source != "":
			if made, planned := b.shared[m.Source]; planned {
				created = append(created, made)
			}
			m.Source = b.volumeName(m.Source)
		case m.fromSource() && m.Source == ".":
			created, started = append(created, b.volume), append(started, b.workspace)
			m.Source = b.names.Volume
		case m.fromSource() && b.observed.Files[m.Source]:
			files = append(files, Copy{Source: m.Source, Target: m.Target})
			continue
		case m.fromSource():
			started = append(started, b.filled[m.Source])
			created = append(created, b.filled[m.Source]) // so that no image fills the volume first
			m.Source = b.partVolumes[m.Source]
		}
		if m.Type == MountBind && !path.IsAbs(m.Source) {
			m.Type = MountVolume
		}
		c.Mounts = append(c.Mounts, m)
	}
	files = append(files, b.files(svc.Configs, b.spec.Configs)...)
	files = append(files, b.files(svc.Secrets, b.spec.Secrets)...)
	copies = map[string][]Copy{}
	for _, f := range files {
		dir := "/"
		if c.ReadOnly { // engines write nothing to it but to its volumes
			dir = path.Dir(f.Target)
		}
		copies[dir] = append(copies[dir], f)
	}
	if c.ReadOnly {
		c.Mounts = append(c.Mounts, foldersFor(files, c.Mounts)...)
	}
	return created, started, copies
}

// files turns configs or secrets into copies.
func (b *attemptPlan) files(mounts []FileMount, sources map[string]FileSource) []Copy {
	var all []Copy
	for _, m := range mounts {
		src := sources[m.Source]
		c := Copy{Source: src.File, Content: src.Content, Target: m.Target, UID: m.UID, GID: m.GID, Mode: m.Mode}
		if src.Environment != "" {
			c.Content = b.spec.Env[src.Environment]
		}
		if c.Mode == "" {
			c.Mode = "0444"
		}
		all = append(all, c)
	}
	return all
}

// foldersFor are volumes of the container's own for the folders that files are copied
// to: nothing else of a read-only container can be written, not even from outside.
func foldersFor(copies []Copy, mounts []Mount) []Mount {
	var all []Mount
	covered := func(dir string) bool {
		within := func(m Mount) bool { return m.Target == dir || strings.HasPrefix(dir, m.Target+"/") }
		return slices.ContainsFunc(mounts, within) || slices.ContainsFunc(all, within)
	}
	for _, c := range copies {
		if dir := path.Dir(c.Target); dir != "/" && !covered(dir) {
			all = append(all, Mount{Type: MountVolume, Target: dir})
		}
	}
	return all
}

// volumeOf is what a volume of the spec is called on the engine.
func (n Names) volumeOf(name string) string { return n.prefix() + "-vol-" + nameSafe(name) }

func (n Names) partOf(i int) string { return fmt.Sprintf("%s-part-%d", n.prefix(), i) }

func (n Names) carrier() string { return n.prefix() + "-files" }

func (n Names) prefix() string { return strings.TrimSuffix(n.Job, "-job") }
