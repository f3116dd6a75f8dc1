package topology

import (
	"net/netip"
	"time"
)

// EngineInfo is what an engine says of itself.
type EngineInfo struct {
	Info
	// Init says that the engine can put a process of its own in front of a
	// container's that passes signals on and reaps orphans.
	Init bool
	// Routes are the addresses that the engine's machine reaches in some way already,
	// default routes aside; nil when that is not known.
	Routes []netip.Prefix
	// KeepsUsage says that Usage also answers for containers that have ended.
	KeepsUsage bool
	// Emulates lists further architectures (GOARCH words) whose programs run here.
	Emulates []string
}

// Image is what an execution needs to know of an image.
type Image struct {
	ID       string // of its configuration: "sha256:…"
	Digest   string // in the registry that it was pulled from; empty for a local image
	OS, Arch string // GOOS and GOARCH words
	Variant  string // of the architecture, "v7"; often empty
	User     string
	Env      []string
	Shell    []string     // of CMD-SHELL healthchecks; nil is /bin/sh -c
	Health   *Healthcheck // the image's own HEALTHCHECK
	Stop     string       // the signal of its STOPSIGNAL; "" is SIGTERM
}

// PullProgress is a state of a pull. Bytes are those on the wire.
type PullProgress struct {
	Layers, LayersDone int
	Bytes, TotalBytes  int64
}

// NetworkSpec is a network to create. Internal networks reach nothing outside.
type NetworkSpec struct {
	Name     string
	Internal bool
	// Subnet is the network's addresses in CIDR notation; "" leaves them to the engine.
	// KindBusy when another network has some of them.
	Subnet string
	Labels map[string]string
}

// VolumeSpec is a volume to create.
type VolumeSpec struct {
	Name   string
	Labels map[string]string
	// Limit is the most that the volume may hold, in bytes; 0 is none. An engine that
	// cannot keep it makes the volume without.
	Limit int64
}

// ContainerSpec is a container to create. Nil Entrypoint and Command keep those of
// the image, as do an empty WorkingDir and User.
type ContainerSpec struct {
	Name       string
	Hostname   string
	Image      string
	Platform   string // "" is the engine's own
	Entrypoint []string
	Command    []string
	Env        []string // KEY=VALUE, sorted
	WorkingDir string
	User       string
	Network    string            // a network's name; "" is none at all
	NetworkOf  string            // instead: a running container whose network, host name and name servers it shares
	Aliases    []string          // host names on Network
	Volumes    map[string]string // directory → volume
	Mounts     []Mount           // sources of volumes are the engine's names of them, those of binds absolute
	Tmpfs      map[string]string // directory → mount options
	Resources  Resources         // an engine that cannot keep Disk makes the container without
	Ulimits    map[string]Ulimit
	// Resolvers are the name servers to ask for what is not on Network; nil is the machine's own.
	Resolvers []string
	// NoMetadata keeps the container from the addresses at which clouds tell a machine
	// its credentials (169.254.169.254 and all other link-local ones; there is no IPv6),
	// and from the raw sockets with which it could go round that.
	NoMetadata bool
	Init       bool // see EngineInfo.Init
	OpenStdin  bool // standard input that never ends; see Process.Write
	// Beside names a container whose files are this one's too, for an engine without volumes. Others need not heed it.
	Beside string
	Labels map[string]string

	GroupAdd    []string
	ExtraHosts  []string // NAME=ADDRESS
	ShmSize     int64    // bytes; 0 is the engine's own
	Sysctls     map[string]string
	ReadOnly    bool
	SecurityOpt []string
	CapDrop     []string
	// Powers are carried out as they are; whether they may be was decided before.
	Powers Powers
}

// BuildSpec is an image to build.
type BuildSpec struct {
	Image      string // what it is called
	Dockerfile string // in the context
	Args       map[string]string
	Target     string // a stage; "" is the last
	Platform   string // "" is the engine's own
	Network    string // of what is run; "" is the engine's default
	NoCache    bool
	Pull       bool // base images even if they are present
	ShmSize    int64
	ExtraHosts []string // NAME=ADDRESS
	Labels     map[string]string
}

// ExecSpec is a further process of a container. Environment, user and directory
// are the container's own where they are not set here.
type ExecSpec struct {
	Argv       []string
	Env        []string
	User       string
	WorkingDir string
	Stdin      []byte // all that the process reads; nil is an input that is at its end
	// OOMShell, where set, is an interpreter of sh that the image has. A process that
	// fails is then looked into with it for Exit.OOM.
	OOMShell string
}

// Exit is how a process ended.
type Exit struct {
	Code int  // 128+N where signal N ended it
	OOM  bool // a process of the container was killed for want of memory meanwhile
	// Outside says that the engine ended the container for a reason of its own, because it
	// was being stopped for example, or for somebody else.
	Outside bool
}

// Filter selects resources by their labels. Empty fields match everything, but
// only resources that carry LabelHub ever match.
type Filter struct {
	Hub, Runner string
	Job         string
	Attempt     int // with Job
	Epoch       int64
	// Set selects the members of one set of services that stay between jobs.
	Set string
	// Images has images listed too, which takes longer the more an engine has.
	Images bool
}

// Offset is a place in a stream: how many bytes came before it, and the last of
// them, by which it is recognised.
type Offset struct {
	Bytes int64  `json:"bytes"`
	Tail  []byte `json:"tail,omitempty"`
}

// OffsetTail is how many bytes of Offset.Tail are enough.
const OffsetTail = 64

// Offsets are places in the output of a container, and when they were reached.
type Offsets struct {
	Stdout Offset    `json:"stdout"`
	Stderr Offset    `json:"stderr"`
	At     time.Time `json:"at,omitzero"`
}

// Of returns the place in a stream, nil for one that is not the container's own.
func (o *Offsets) Of(s Stream) *Offset {
	switch s {
	case Stdout:
		return &o.Stdout
	case Stderr:
		return &o.Stderr
	}
	return nil
}
