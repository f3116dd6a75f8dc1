package topology

import "path"

// Service is a container beside the job, in Compose's words. Its key in
// Spec.Services is its host name on the topology's network. What Parse returns
// is Compose's long form: folders of the source are relative and clean, modes
// are octal text, and what the default would be is left out.
type Service struct {
	// Image is what runs; of a service with a Build it is what other services may
	// call the image by, and may be empty.
	Image    string     `json:"image,omitempty"`
	Build    *Build     `json:"build,omitempty"`
	Platform string     `json:"platform,omitempty"`    // os/arch[/variant], default the spec's
	Pull     PullPolicy `json:"pull_policy,omitempty"` // default the spec's

	Command     []string              `json:"command,omitempty"`    // nil keeps the image's CMD
	Entrypoint  []string              `json:"entrypoint,omitempty"` // nil keeps the image's ENTRYPOINT
	Environment map[string]string     `json:"environment,omitempty"`
	Healthcheck *Healthcheck          `json:"healthcheck,omitempty"`
	DependsOn   map[string]Dependency `json:"depends_on,omitempty"`
	// Scale is how many containers run; 0 is one. More are called NAME-1, NAME-2 and
	// so on, and NAME is the name of all of them.
	Scale int `json:"scale,omitempty"`
	// Reuse lets the service stay, with all that it holds, for later jobs of the same
	// owner that describe it in the same way; see ReuseKey.
	Reuse bool `json:"reuse,omitempty"`

	WorkingDir string   `json:"working_dir,omitempty"`
	User       string   `json:"user,omitempty"`
	GroupAdd   []string `json:"group_add,omitempty"`
	Hostname   string   `json:"hostname,omitempty"`    // what the container calls itself; default its name
	Aliases    []string `json:"aliases,omitempty"`     // further host names on the network, sorted
	ExtraHosts []string `json:"extra_hosts,omitempty"` // NAME=ADDRESS, sorted

	Tmpfs   []string    `json:"tmpfs,omitempty"` // Compose's short form, PATH[:options]
	Volumes []Mount     `json:"volumes,omitempty"`
	Configs []FileMount `json:"configs,omitempty"`
	Secrets []FileMount `json:"secrets,omitempty"`

	Resources Resources         `json:"resources,omitzero"`
	Ulimits   map[string]Ulimit `json:"ulimits,omitempty"`
	ShmSize   int64             `json:"shm_size,omitempty"` // bytes of /dev/shm; 0 is the engine's own
	Sysctls   map[string]string `json:"sysctls,omitempty"`

	Init        bool     `json:"init,omitempty"` // a process of the engine's in front, which reaps and passes signals on
	ReadOnly    bool     `json:"read_only,omitempty"`
	SecurityOpt []string `json:"security_opt,omitempty"` // no-new-privileges alone
	StdinOpen   bool     `json:"stdin_open,omitempty"`
	CapDrop     []string `json:"cap_drop,omitempty"`

	// StopSignal and StopGrace, where one of them is set, give the service time to
	// end by itself when the attempt is over. Otherwise it is killed: its work is done.
	StopSignal string   `json:"stop_signal,omitempty"` // default the image's, else SIGTERM
	StopGrace  Duration `json:"stop_grace_period,omitempty"`

	// Powers are refused unless the machine's owner allows them.
	Powers
}

// Healthcheck says when a service is ready. Test is Compose's canonical form:
// ["CMD", argv…], ["CMD-SHELL", script] or ["NONE"].
type Healthcheck struct {
	Test        []string `json:"test"`
	Interval    Duration `json:"interval,omitempty"`     // default 1 s
	Timeout     Duration `json:"timeout,omitempty"`      // default 30 s
	StartPeriod Duration `json:"start_period,omitempty"` // failures do not count during it
	// StartInterval is the longest between two checks during the start period;
	// 0 is Interval.
	StartInterval Duration `json:"start_interval,omitempty"`
	Retries       int      `json:"retries,omitempty"` // default 30 consecutive failures
}

// Dependency is the state of another service that a service waits for.
type Dependency struct {
	Condition Condition `json:"condition"`
}

// Condition is Compose's depends_on condition.
type Condition string

// The conditions of a dependency.
const (
	ServiceStarted   Condition = "service_started"
	ServiceHealthy   Condition = "service_healthy"
	ServiceCompleted Condition = "service_completed_successfully"
)

// Compose names Compose files of the source.
type Compose struct {
	// Files are merged in their order; paths are relative to the source.
	Files    []string `json:"files,omitempty"`
	Profiles []string `json:"profiles,omitempty"` // sorted, without duplicates
}

// Build is how an image is made from the source. The engine of the machine builds
// it for the attempt, and it is removed with the attempt.
type Build struct {
	Context    string            `json:"context"`              // folder of the source, "." for its root
	Dockerfile string            `json:"dockerfile,omitempty"` // relative to the context; default Dockerfile
	Inline     string            `json:"dockerfile_inline,omitempty"`
	Args       map[string]string `json:"args,omitempty"`
	Target     string            `json:"target,omitempty"`
	Network    string            `json:"network,omitempty"` // "none", or "host" where the owner allows it
	NoCache    bool              `json:"no_cache,omitempty"`
	Pull       bool              `json:"pull,omitempty"` // even base images that are present
	ShmSize    int64             `json:"shm_size,omitempty"`
	ExtraHosts []string          `json:"extra_hosts,omitempty"`
}

// MountType is what a Mount mounts.
type MountType string

// The types of a mount.
const (
	// MountVolume is a volume of the spec's by its name, or one of the container's own.
	MountVolume MountType = "volume"
	// MountBind is a file or folder of the source by a relative path, or one of the
	// machine's by an absolute path, which only its owner can allow.
	MountBind MountType = "bind"
)

// Mount is a volume, a part of the source or a path of the machine in a container.
type Mount struct {
	Type     MountType `json:"type"`
	Source   string    `json:"source,omitempty"`
	Target   string    `json:"target"` // absolute
	ReadOnly bool      `json:"read_only,omitempty"`
}

// Volume is a volume that services share. It is empty at the attempt's start, and
// removed at its end.
type Volume struct{}

// FileSource is where the content of a config or a secret comes from: one field is set.
type FileSource struct {
	File        string `json:"file,omitempty"` // of the source
	Content     string `json:"content,omitempty"`
	Environment string `json:"environment,omitempty"` // a variable of the job's env
}

// FileMount is a config or a secret as a file in a container. It is copied there.
type FileMount struct {
	Source string `json:"source"`
	Target string `json:"target"` // absolute
	UID    string `json:"uid,omitempty"`
	GID    string `json:"gid,omitempty"`
	Mode   string `json:"mode,omitempty"` // octal; default 0444
}

// fromSource says whether the mount is a part of the source.
func (m Mount) fromSource() bool { return m.Type == MountBind && !path.IsAbs(m.Source) }
