package topology

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Powers is what a service can ask for that reaches beyond its container. A
// machine refuses all of it unless its owner allows it; see Spec.Demands.
type Powers struct {
	Privileged  bool     `json:"privileged,omitempty"`
	CapAdd      []string `json:"cap_add,omitempty"` // sorted, upper case, without CAP_
	Devices     []string `json:"devices,omitempty"` // PATH:PATH:rwm
	GPUs        *GPUs    `json:"gpus,omitempty"`
	NetworkMode string   `json:"network_mode,omitempty"` // "host"; "none" needs no leave
	PID         string   `json:"pid,omitempty"`          // "host"
	IPC         string   `json:"ipc,omitempty"`          // "host"; "none", "private" and "shareable" need no leave
	UTS         string   `json:"uts,omitempty"`          // "host"
	Userns      string   `json:"userns_mode,omitempty"`  // "host"
	Cgroup      string   `json:"cgroup,omitempty"`       // "host"; "private" needs no leave
	Ports       []string `json:"ports,omitempty"`        // [ADDRESS:][PORT]:PORT/PROTOCOL
}

// GPUs are graphics processors of the machine's: some number of them, or those named.
type GPUs struct {
	Count int      `json:"count,omitempty"` // -1 is all
	IDs   []string `json:"device_ids,omitempty"`
}

// Power is a kind of demand, in the words of an owner's policy.
type Power string

// The powers that a spec can demand.
const (
	PowerPrivileged   Power = "privileged"
	PowerCapAdd       Power = "cap_add"
	PowerHostModes    Power = "host_modes"
	PowerDevices      Power = "devices"
	PowerGPUs         Power = "gpus"
	PowerDockerSocket Power = "docker_socket"
	PowerMounts       Power = "mounts"
	PowerPorts        Power = "ports"
)

// powerReasons say why each is refused unless the owner allows it.
var powerReasons = map[Power]string{
	PowerPrivileged:   "a privileged container is root on the machine",
	PowerCapAdd:       "a capability lets it do to the machine what containers are there to prevent",
	PowerHostModes:    "it would see the machine's own processes, addresses or memory and could disturb them",
	PowerDevices:      "a device belongs to the machine and not to the job",
	PowerGPUs:         "the machine's graphics processors are its owner's to give",
	PowerDockerSocket: "whoever reaches the engine's socket is root on the machine",
	PowerMounts:       "it would read or change files of the machine that are not the job's",
	PowerPorts:        "it would be reachable from the machine's network; the job and its services reach each other without",
}

// Demand is something that a spec asks of the machine beyond containers of the
// attempt's own.
type Demand struct {
	Power   Power
	Service string
	// Value is what exactly: a capability, a namespace (network, pid, ipc, uts, userns,
	// cgroup), a device's path, PATH or PATH:ro of a mount, a published port, or range
	// of ports, or "auto" for one that the engine chooses. It is empty where the power
	// is a matter of yes or no.
	Value string
}

// Reason says why the demand is refused unless the owner allows it.
func (d Demand) Reason() string { return powerReasons[d.Power] }

// Demands lists what spec asks of the machine, by service. Whether that is allowed is
// for a policy to say; an execution carries it out.
func (s *Spec) Demands() []Demand {
	var all []Demand
	for _, name := range slices.Sorted(maps.Keys(s.Services)) {
		for _, d := range s.Services[name].demands() {
			d.Service = name
			all = append(all, d)
		}
	}
	return all
}

func (s Service) demands() []Demand {
	var all []Demand
	add := func(p Power, value string) {
		if d := (Demand{Power: p, Value: value}); !slices.Contains(all, d) {
			all = append(all, d)
		}
	}
	if s.Privileged {
		add(PowerPrivileged, "")
	}
	for _, c := range s.CapAdd {
		add(PowerCapAdd, c)
	}
	modes := [][2]string{
		{"network", s.NetworkMode}, {"pid", s.PID}, {"ipc", s.IPC}, {"uts", s.UTS}, {"userns", s.Userns}, {"cgroup", s.Cgroup},
	}
	if s.Build != nil {
		modes = append(modes, [2]string{"network", s.Build.Network})
	}
	for _, mode := range modes {
		if mode[1] == modeHost {
			add(PowerHostModes, mode[0])
		}
	}
	for _, d := range s.Devices {
		device, _, _ := strings.Cut(d, ":")
		add(PowerDevices, device)
	}
	if s.GPUs != nil {
		add(PowerGPUs, "")
	}
	for _, m := range s.Volumes {
		switch {
		case m.Type != MountBind || !path.IsAbs(m.Source):
		case reachesEngine(m.Source):
			add(PowerDockerSocket, "")
		case m.ReadOnly:
			add(PowerMounts, m.Source+":ro")
		default:
			add(PowerMounts, m.Source)
		}
	}
	for _, p := range s.Ports {
		add(PowerPorts, publishedPort(p))
	}
	return all
}

const (
	modeHost        = "host"
	modeNone        = "none"
	noNewPrivileges = "no-new-privileges:true"
)

// engineSockets are where engines listen; a folder that holds one is as good as it.
var engineSockets = []string{
	"/var/run/docker.sock", "/run/docker.sock", "/var/run/podman/podman.sock", "/run/podman/podman.sock",
	"/var/run/containerd/containerd.sock", "/run/containerd/containerd.sock",
}

// reachesEngine says whether a path of the machine is an engine's socket by its name,
// or a folder that one is in by its usual place.
func reachesEngine(p string) bool {
	p = path.Clean(p)
	switch path.Base(p) {
	case "docker.sock", "podman.sock", "containerd.sock", "crio.sock":
		return true
	}
	return slices.ContainsFunc(engineSockets, func(s string) bool { return strings.HasPrefix(s, strings.TrimSuffix(p, "/")+"/") })
}

// autoPort stands for a published port that the engine chooses.
const autoPort = "auto"

// publishedPort is the machine's port in [ADDRESS:][PORT]:PORT/PROTOCOL.
func publishedPort(p string) string {
	p = p[:strings.LastIndexByte(p, ':')]
	if p = p[strings.LastIndexByte(p, ':')+1:]; p == "" {
		return autoPort
	}
	return p
}

// String is how many, or which.
func (g GPUs) String() string {
	switch {
	case len(g.IDs) > 0:
		return strings.Join(g.IDs, ",")
	case g.Count < 0:
		return "all"
	}
	return strconv.Itoa(g.Count)
}
