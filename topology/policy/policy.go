// Package policy is what the owner of a runner allows jobs to do on the machine:
// its language (a strict YAML file), what a job asks for, and the comparison of
// the two. It is pure: the runner enforces a policy before anything is started,
// and the hub compares an outline of it with a job that still waits.
package policy

import "github.com/runnerhub/runnerhub/topology"

// Policy is what an owner allows. The zero value is the policy of a machine whose
// owner has written none: any image, any network mode, at any time, and nothing
// that reaches beyond the job's own containers.
type Policy struct {
	// Images are patterns of the images that may run; none is any. See MatchImage.
	Images []string `json:"images,omitempty"`
	// Networks are the network modes that a job may ask for; none is any.
	Networks []topology.NetworkMode `json:"networks,omitempty"`
	// Mounts are folders of the machine that containers may see.
	Mounts []Mount `json:"mounts,omitempty"`
	// Devices are patterns of paths of devices: /dev/kvm, /dev/dri/*.
	Devices []string `json:"devices,omitempty"`
	GPUs    bool     `json:"gpus,omitempty"`
	// Privileged containers can do whatever the engine can, which mostly is root.
	Privileged bool `json:"privileged,omitempty"`
	// CapAdd are Linux capabilities that containers may be given, without CAP_; ALL is all.
	CapAdd []string `json:"cap_add,omitempty"`
	// HostModes are namespaces of the machine's that containers may share.
	HostModes []HostMode `json:"host_modes,omitempty"`
	// DockerSocket allows to mount the engine's socket, with which a job is as mighty as the engine.
	DockerSocket bool `json:"docker_socket,omitempty"`
	// Ports are ports of the machine that may be published: 8080, 8000-8999, or auto
	// for those that the engine chooses.
	Ports []string `json:"ports,omitempty"`
	// Repositories are patterns of the repositories that jobs may be fetched from;
	// none is any. See MatchRepository.
	Repositories []string `json:"repositories,omitempty"`
	// MetadataAddresses lets containers reach the addresses where clouds hand credentials to machines.
	MetadataAddresses bool `json:"metadata_addresses,omitempty"`
	// OpenMetadata is no word of the owner's but a fact that the runner adds: in an open
	// network the machine's cloud would hand its credentials to containers all the same.
	OpenMetadata bool `json:"open_metadata,omitempty"`
	// HostExecutor lets jobs without an image run on the machine itself, with the rights of the runner's user.
	HostExecutor bool `json:"host_executor,omitempty"`
	// HostUser is the user that they run as instead, where the runner is root; an outline does not tell it.
	HostUser string `json:"host_user,omitempty"`
	// Hours are when the runner takes jobs, in the machine's own time; none is always.
	Hours []Window `json:"hours,omitempty"`
	// NotOnBattery keeps the runner from taking jobs while the machine runs on its battery.
	NotOnBattery bool `json:"not_on_battery,omitempty"`
	// Ceiling is the most that all containers of one job may have together.
	Ceiling Ceiling `json:"ceiling,omitzero"`
}

// Mount is a folder or file of the machine, with all that is below it.
type Mount struct {
	Path     string `json:"path,omitempty"` // absolute; empty in an outline, which does not tell
	ReadOnly bool   `json:"read_only,omitempty"`
}

// HostMode is a namespace that a container shares with the machine.
type HostMode string

// The host modes, in Compose's words.
const (
	HostNetwork HostMode = "network"
	HostPID     HostMode = "pid"
	HostIPC     HostMode = "ipc"
	HostUTS     HostMode = "uts"
	HostUserNS  HostMode = "userns"
	HostCgroup  HostMode = "cgroup"
)

// hostModes are all of them, in the order of messages.
var hostModes = []HostMode{HostNetwork, HostPID, HostIPC, HostUTS, HostUserNS, HostCgroup}

// Ceiling bounds one job; zero is no bound.
type Ceiling struct {
	CPUs   float64 `json:"cpus,omitempty"`   // cores
	Memory int64   `json:"memory,omitempty"` // bytes
	Disk   int64   `json:"disk,omitempty"`   // bytes
}
