package topology

import (
	"context"
	"errors"
	"time"
)

// Labels that every container, network and volume of ours carries. Clean-up
// finds its own by them and touches nothing else.
const (
	LabelHub     = "runnerhub.hub"
	LabelRunner  = "runnerhub.runner"
	LabelJob     = "runnerhub.job"
	LabelAttempt = "runnerhub.attempt"
	LabelEpoch   = "runnerhub.epoch"
	// LabelRole is job, service, network, workspace, pool or warm, among others.
	LabelRole = "runnerhub.role"
	// LabelSet names the set of services that a member of it stays with.
	LabelSet = "runnerhub.set"
)

// Identity says whose an attempt is. Every part becomes a label.
type Identity struct {
	Hub     string // the hub's id
	Runner  string // the runner's id
	Job     string
	Attempt int
	Epoch   int64
}

// Work is one attempt to execute.
type Work struct {
	Identity
	// Owner is whose job it is. Services stay for jobs of the same owner alone, and for
	// nobody where it is empty.
	Owner string
	Spec  *Spec
	// Source is a folder on this machine whose tree the workspace starts with; ""
	// is none. It is read while the topology comes up and not changed.
	Source string
	// Metadata allows the containers to reach where clouds tell a machine its
	// credentials; see ContainerSpec.NoMetadata.
	Metadata bool
	// Collect says where what is kept of the workspace goes; nil keeps no files.
	Collect *Collect
	// Cache keeps the folders of Spec.Cache; nil keeps none.
	Cache Cache
	// Save, where set, is given what another process would have to know to take the
	// attempt up, whenever that changes; see Executor.Adopt. The last one counts.
	Save func(checkpoint []byte) error
	// Enter, where set, is handed the way into the containers once the job's has started, or at a hold before that. It must
	// return soon. What it is handed is of use until Run returns.
	Enter func(Inside)
	// Hold, where set, is called with the result of an attempt that failed or ran out of time, while its containers are there;
	// what has not ended runs on. They are removed when it returns. ctx ends with Run's, or when the engine is gone.
	Hold func(ctx context.Context, result Result)
	// LetGo, where set, is closed when somebody ends a session.
	LetGo <-chan struct{}
	// Used, where set, hears of a session whenever a request to its containers begins or has ended: whether any is under way, and
	// if none is, until when the session waits for another one. It must return soon.
	Used func(busy bool, until time.Time)
}

// Collect is where files of a job go that are kept, and how much that may be.
type Collect struct {
	Dir      string // a folder of this machine, made if need be
	MaxFiles int    // 0 is any number
	MaxBytes int64  // of all together; 0 is any number
}

// Resume is what a process that was killed has left of an attempt.
type Resume struct {
	// Checkpoint is the last that Work.Save was given, nil for none.
	Checkpoint []byte
	// Offsets say how far the output of each container is kept, by the service's name;
	// "" is the job container.
	Offsets map[string]Offsets
}

// Causes that end a running attempt early, given to context.WithCancelCause.
var (
	// ErrCanceled asks for SIGTERM, the grace and then SIGKILL; the result is canceled.
	ErrCanceled = errors.New("the job was canceled")
	// ErrStale means that the lease is lost: kill at once, no grace, nobody reads the result.
	ErrStale = errors.New("the lease was lost")
	// ErrDraining is the runner's second signal: like ErrCanceled, but the lease is released.
	ErrDraining = errors.New("the runner is shutting down")
)

// Phase is what an attempt is busy with; the values are those of heartbeat_job.
type Phase string

// The phases of an attempt in their order.
const (
	PhasePreparing        Phase = "preparing"
	PhasePulling          Phase = "pulling"
	PhaseStartingServices Phase = "starting_services"
	PhaseRunning          Phase = "running"
	PhaseCollecting       Phase = "collecting"
	PhaseHeld             Phase = "held" // it failed, and its containers are kept to be looked at
)

// Parts of the phases whose time is told apart in Result.Phases. Heartbeats do not name them: hubs of before
// refuse what they do not know.
const (
	PhaseRestoringCache Phase = "restoring_cache"
	PhaseSavingCache    Phase = "saving_cache"
)

// Stream names where a log record comes from.
type Stream string

// The streams of a log record.
const (
	Stdout Stream = "stdout"
	Stderr Stream = "stderr"
	System Stream = "system" // the runner's own words: pulls, step boundaries, failures
)

// Record is a piece of log. Data is whole lines or a part of a line: any bytes,
// at most 32 KiB, not retained by the receiver after the call.
type Record struct {
	Time    time.Time
	Stream  Stream
	Service string // a service's name; empty for the job container
	Step    string // the step's name; empty outside steps
	Data    []byte
	// Offset is the end of Data in the container's stream, in bytes; see Engine.Attach.
	// 0 for what is not from there, or is not to be resumed after.
	Offset int64
}

// Observer hears about an attempt while it runs. Its methods may be called from
// several goroutines at once; Log blocks to slow a container that writes faster
// than the log can be kept.
type Observer interface {
	Phase(p Phase, step string)
	Log(r Record) error
}

// Status is how an attempt ended.
type Status string

// The statuses of a result.
const (
	Succeeded Status = "succeeded"
	Failed    Status = "failed"
	Canceled  Status = "canceled"
	TimedOut  Status = "timed_out"
)

// Class is the cause of a failure; the values are those of the wire contract.
type Class string

// The failure classes that an execution can end with.
const (
	ClassScript            Class = "script"
	ClassOOM               Class = "oom"
	ClassTimeout           Class = "timeout"
	ClassImagePull         Class = "image_pull"
	ClassServiceUnhealthy  Class = "service_unhealthy"
	ClassArtifact          Class = "artifact"
	ClassSource            Class = "source"
	ClassSpecInvalid       Class = "spec_invalid"
	ClassCapabilityMissing Class = "capability_missing"
	ClassDockerUnavailable Class = "docker_unavailable"
	ClassDiskFull          Class = "disk_full"
	ClassPolicyDenied      Class = "policy_denied"
	ClassRunnerLost        Class = "runner_lost"
	ClassCanceled          Class = "canceled"
	ClassInternal          Class = "internal"
)

// Failure says why an attempt did not succeed.
type Failure struct {
	Class     Class
	Message   string // one sentence for a person
	Hint      string // what to do next; may be empty
	Container string // "job" or a service's name, where one is to blame
	Machine   bool   // the machine is to blame, although Class may be one of the job's
}

// StepResult is the outcome of one step. Status is succeeded, failed, canceled,
// timed_out or skipped.
type StepResult struct {
	Name      string
	Status    string
	ExitCode  *int
	Signal    string
	StartedAt time.Time
	Duration  time.Duration
}

// Usage is what the job container consumed, as far as the engine tells.
type Usage struct {
	CPU        time.Duration
	MemoryPeak int64 // bytes
	DiskPeak   int64 // bytes; measured only where resources.disk sets a limit
	Wall       time.Duration
	Pulled     int64 // bytes of images that came over the network
}

// Leaks counts resources of this attempt that were still there after removal.
type Leaks struct {
	Containers, Networks, Volumes, Images int
}

// Result is what one execution came to.
type Result struct {
	Status   Status
	ExitCode *int   // of the job container or the step that failed first
	Signal   string // "SIGKILL", where a signal ended the process
	Failure  *Failure
	Steps    []StepResult
	Images   map[string]string // reference → digest or image id
	Note     string            // of a session that succeeded: what ended it
	Warm     []string          // services that an earlier job had left, sorted
	Usage    Usage
	Phases   map[Phase]time.Duration // how long it was busy with each, up to the result

	Artifacts []CollectedFile   // in Collect.Dir, by path
	Caches    []CacheResult     // as in Spec.Cache; nil where none was looked for
	Outputs   map[string]string // what the job wrote to its output file
	Tests     *Tests            // counts of its reports; nil when it left none
	Changes   *Changes          // of Spec.Collect; nil where nothing was compared
	Leaks     Leaks
}

// CollectedFile is a file of the workspace that is kept.
type CollectedFile struct {
	Name       string // of the spec's entry
	Path       string // below the working directory
	Executable bool
	Size       int64
	SHA256     []byte
	File       string // where it is on this machine
}

// Changes counts what a job has changed of its source.
type Changes struct {
	Added, Modified, Deleted int // files in the patch
	LeftOut                  int // changed files that are not in the patch
	Ignored                  int // new files and folders that an ignore file names
}

// Tests counts the test cases of a job's reports.
type Tests struct {
	Passed, Failed, Skipped int
	Failing                 []string      // names of failed ones, at most MaxFailing
	Failures                []TestFailure // what the first of them said, at most MaxFailures
	Unread                  int           // reports that could not be read, or not to their end
}

// TestFailure is what a report says of a test that failed.
type TestFailure struct {
	Name    string
	Message string // its first lines, at most about 500 bytes
	File    string // where it failed, as the report has it; may be empty
	Line    int    // 0 where that is not known
}

// MaxFailing is how many failed tests are named, and MaxFailures of how many it is told
// what they said.
const (
	MaxFailing  = 50
	MaxFailures = 20
)

// Executor runs attempts. topology/docker and the fake engine's executor satisfy it.
type Executor interface {
	// Run executes one attempt and returns when its result is known; removal of
	// the topology may still go on (Close and Sweep wait for it). It always returns a result: engine
	// errors become failures. ctx is ended with one of the causes above; the
	// spec's timeout is kept by Run itself.
	Run(ctx context.Context, work Work, obs Observer) Result
	// Adopt takes up an attempt that another process of this runner was killed under
	// and brings it to the end that Run would have: what still runs is listened to
	// again, what has ended meanwhile is told of, and where the job had not begun all is
	// made anew. Of the output nothing is lost and nothing comes twice.
	Adopt(ctx context.Context, work Work, left Resume, obs Observer) Result
	// Sweep removes what earlier runs of this runner left behind (a killed
	// process, say), except the attempts in live, and says what it found.
	Sweep(ctx context.Context, hub, runner string, live []Identity) (Leaks, error)
	// Probe reports the capabilities of this machine's engine in the wire's
	// vocabulary ("docker", "linux", "amd64", "gpu", …), or why there is none.
	Probe(ctx context.Context) (Info, error)
	// Close waits for removals under way, bounded by ctx, and frees the client.
	Close(ctx context.Context) error
}

// Info is what an engine says of itself.
type Info struct {
	Engine       string // name and version for people: "docker 20.10.24"
	Endpoint     string // where it was found and how, for people
	OS, Arch     string // GOOS and GOARCH words
	Capabilities []string
}
