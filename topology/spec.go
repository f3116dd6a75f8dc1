// Package topology describes what one attempt of a job runs in: the job
// container, its services and their private network. It holds the job spec and
// its validation, the observe → plan → execute machinery as data and pure
// functions, and the Engine interface that a container engine implements. It
// imports no other package of this project but gitpatch.
package topology

import "time"

// Spec is one validated job spec, as Parse returns it. Its JSON form is
// canonical: Parse reads it back to an equal value, which is how the hub hands
// a spec to a runner.
type Spec struct {
	Kind JobKind `json:"kind,omitempty"` // "" is a job that ends with its command or steps
	Name string  `json:"name,omitempty"`
	// Image is what the job container is made of; "" is none, and the job runs on the
	// machine itself.
	Image    string             `json:"image,omitempty"`
	Command  []string           `json:"command,omitempty"` // arguments to the image's own ENTRYPOINT; nil keeps its CMD
	Steps    []Step             `json:"steps,omitempty"`   // instead of Command: each runs in a shell of its own
	Services map[string]Service `json:"services,omitempty"`

	// Compose names files of the source that say what the services are. The machine
	// that runs the job reads them, and fills in what follows.
	Compose Compose               `json:"compose,omitzero"`
	Volumes map[string]Volume     `json:"volumes,omitempty"` // of the attempt's own, by the names that services mount
	Configs map[string]FileSource `json:"configs,omitempty"`
	Secrets map[string]FileSource `json:"secrets,omitempty"`

	Env map[string]string `json:"env,omitempty"`

	// WorkingDir, User and Shell concern the job container. The working directory
	// is a volume of the attempt's own; Shell defaults to ["/bin/sh", "-e", "-c"].
	WorkingDir string   `json:"working_dir,omitempty"`
	User       string   `json:"user,omitempty"`
	Shell      []string `json:"shell,omitempty"`

	// Source is the tree that the working directory starts with; nil is an empty one.
	Source *Source `json:"source,omitempty"`

	Requires  []string          `json:"requires,omitempty"` // capabilities, sorted, without duplicates
	Labels    []string          `json:"labels,omitempty"`   // labels of the owner's, sorted, without duplicates
	Platform  string            `json:"platform,omitempty"` // os/arch[/variant] of the images, default the engine's
	Pull      PullPolicy        `json:"pull,omitempty"`     // default missing
	Resources Resources         `json:"resources,omitzero"`
	Ulimits   map[string]Ulimit `json:"ulimits,omitempty"` // of the job container, by Docker's names
	Network   NetworkMode       `json:"network,omitempty"` // default open
	Timeout   Duration          `json:"timeout,omitempty"` // of one attempt; 0 is the hub's default
	// IdleTimeout ends an attempt whose job container writes nothing for so long; 0 is never. A session it ends, as
	// succeeded, once nobody has used it for so long.
	IdleTimeout Duration `json:"idle_timeout,omitempty"`
	Grace       Duration `json:"grace,omitempty"` // between SIGTERM and SIGKILL; 0 is 10 s
	Retry       Retry    `json:"retry,omitzero"`

	Artifacts     []Artifact `json:"artifacts,omitempty"`       // kept when the job has ended, whether it succeeded or not
	Reports       Reports    `json:"reports,omitzero"`          // read into the result then
	Collect       Collected  `json:"collect,omitempty"`         // what else comes back then
	HoldOnFailure Duration   `json:"hold_on_failure,omitempty"` // how long the topology stays up after a failure; 0: not at all
	Exec          bool       `json:"exec,omitempty"`            // callers may run commands in it while it runs

	Cache []CacheSpec `json:"cache,omitempty"` // kept by the machine from one job to the next

	// Concurrency is for the hub alone: no runner acts on it.
	Concurrency Concurrency `json:"concurrency,omitzero"`
}

// JobKind is what ends a job.
type JobKind string

// JobSession is the kind of a job that stays when its steps are done, for callers who work in it.
const JobSession JobKind = "session"

// Session says whether the job is a session.
func (s *Spec) Session() bool { return s.Kind == JobSession }

// HeldOpen says whether the job container is held open by a shell, instead of ending with a command.
func (s *Spec) HeldOpen() bool { return len(s.Steps) > 0 || s.Session() }

// Step is one shell script of a job. Steps share the job container's file system.
type Step struct {
	Name   string            `json:"name"` // unique; "step N" when the author gave none
	Run    string            `json:"run"`
	Always bool              `json:"always,omitempty"` // run even after a failed step
	Env    map[string]string `json:"env,omitempty"`
}

// NetworkMode is what the job and its services can reach.
type NetworkMode string

// The network modes.
const (
	NetworkNone       NetworkMode = "none"       // nothing; refused together with services
	NetworkRestricted NetworkMode = "restricted" // the services only
	NetworkOpen       NetworkMode = "open"       // the services and whatever the machine reaches
)

// PullPolicy is when images are pulled.
type PullPolicy string

// The pull policies.
const (
	PullMissing PullPolicy = "missing"
	PullAlways  PullPolicy = "always"
	PullNever   PullPolicy = "never"
)

// Resources are upper limits of one container. Zero means the engine's own, but for Pids, where it is DefaultPids.
type Resources struct {
	CPUs   float64 `json:"cpus,omitempty"`   // cores
	Memory int64   `json:"memory,omitempty"` // bytes; written "4GiB" in YAML
	Pids   int64   `json:"pids,omitempty"`   // processes and threads
	// Disk is in bytes, of what the container writes into its own file system and its volumes together.
	Disk int64 `json:"disk,omitempty"`
}

// Ulimit is a limit that the kernel keeps for each process; -1 is none. Soft is at most Hard.
type Ulimit struct {
	Soft int64 `json:"soft"`
	Hard int64 `json:"hard"`
}

// Retry says how often and after which failure classes a job runs again.
type Retry struct {
	MaxAttempts int      `json:"max_attempts,omitempty"` // 0 is the hub's default
	On          []string `json:"on,omitempty"`           // failure classes; empty is every infrastructure class
}

// Concurrency puts a job into a group of the workspace's, of which one job runs at a time.
type Concurrency struct {
	Group         string `json:"group,omitempty"`
	CancelRunning bool   `json:"cancel_running,omitempty"` // the group's running job is canceled for this one
}

// Duration is a time.Duration written as Go and Compose write it ("1m30s").
type Duration time.Duration
