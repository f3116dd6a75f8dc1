package topology

// podMemory and podPids are what a pod's shell may use. It waits and does nothing.
const (
	podMemory = 32 << 20
	podPids   = 16
)

// PodKey says which jobs may use one pod, and whether spec's may use any: what shares a pod
// shares the addresses of the machine itself, so that services cannot.
func PodKey(spec *Spec, observed Observed) (key string, ok bool) {
	image := observed.Images[spec.Image].ID
	if len(spec.Services) > 0 || spec.Network == NetworkNone || image == "" {
		return "", false
	}
	key = "pod " + image + " " + spec.Platform + " " + spec.HoldingShell()
	if spec.Network == NetworkRestricted {
		key += " restricted"
	}
	if observed.Metadata {
		key += " metadata"
	}
	return key, true
}

// PodContainer describes a container that holds a network open for one job to come: it has
// the address, the host name and the bounds that the job's own would have. What runs in it is
// the shell of the job's image, which waits for ever: no other image's can be trusted with
// the job's network, and none need be present for it.
func PodContainer(spec *Spec, hub, runner string, observed Observed, tag string) ContainerSpec {
	b := attemptPlan{spec: spec, network: observed.Network, observed: observed}
	c := ContainerSpec{
		Name: setPrefix(tag) + "pod", Hostname: "job", Image: spec.Image, Platform: spec.Platform,
		Entrypoint: []string{spec.HoldingShell(), "-c", "read -r _"}, Command: []string{}, OpenStdin: true,
		User: "0", WorkingDir: "/", CapDrop: []string{"ALL"}, Aliases: []string{"job"},
		Resources: Resources{Memory: podMemory, Pids: podPids}, Labels: SetLabels(hub, runner, tag),
	}
	b.connect(&c)
	return c
}
