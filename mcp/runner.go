package mcp

import (
	"encoding/json"
	"time"
)

// LeaseJobArgs asks for work. The same RequestID again returns the same lease,
// so a response that got lost loses no job: choose a fresh one (a UUID, at most
// 64 bytes) for each new lease and keep it over retries.
type LeaseJobArgs struct {
	RequestID    string        `json:"request_id" jsonschema:"unique id of this request; repeat it to get the same lease again"`
	WaitMS       int64         `json:"wait_ms,omitempty" jsonschema:"how long to hold the call while there is no work, at most 25000"`
	Capabilities []string      `json:"capabilities,omitempty" jsonschema:"what the machine can do; words outside the vocabulary are ignored"`
	OS           string        `json:"os,omitempty"`
	Arch         string        `json:"arch,omitempty"`
	Version      string        `json:"version,omitempty"`
	Protocol     int           `json:"protocol" jsonschema:"revision of the runner protocol that the caller speaks"`
	FreeSlots    int           `json:"free_slots,omitempty" jsonschema:"how many jobs the runner could take now, this one included"`
	Slots        int           `json:"slots,omitempty" jsonschema:"how many jobs the runner runs at once"`
	Draining     bool          `json:"draining,omitempty" jsonschema:"true: only tell the state, hand out nothing"`
	Leaving      bool          `json:"leaving,omitempty" jsonschema:"true: the runner ends now; like draining, and it counts as offline until it calls again"`
	Status       *RunnerStatus `json:"status,omitempty"`
	// Policy outlines what the machine's owner allows, at most 32 KiB, so that the hub hands out no job that would be refused.
	Policy json.RawMessage `json:"policy,omitempty" jsonschema:"an outline of what the machine's owner allows, as runnerctl makes it"`
}

// RunnerStatus is a runner's word to its owner. Text is at most 200 bytes.
type RunnerStatus struct {
	Text  string `json:"text"`
	Level string `json:"level" jsonschema:"ok, warning or error"`
}

// Directives that a hub gives a runner with lease_job.
const (
	DirectiveUpdateRequired = "update_required"
	DirectiveDrain          = "drain"
	DirectiveUnpaired       = "unpaired"
)

// LeaseJobResult carries a lease, or none when the wait ended without work.
type LeaseJobResult struct {
	Lease         *Lease   `json:"lease,omitempty"`
	Directives    []string `json:"directives"`
	ServerVersion string   `json:"server_version"`
	HubID         string   `json:"hub_id"`
}

// Lease is the right to run one attempt. All its times are durations from the
// moment the answer was sent; the runner's clock does not matter.
type Lease struct {
	JobID            string `json:"job_id"`
	Attempt          int    `json:"attempt"`
	LeaseEpoch       int64  `json:"lease_epoch"`
	LeaseToken       string `json:"lease_token"`
	TTLMS            int64  `json:"ttl_ms"`             // the lease ends this long after the last heartbeat
	HeartbeatMS      int64  `json:"heartbeat_ms"`       // how often to send one
	FirstHeartbeatMS int64  `json:"first_heartbeat_ms"` // the first one must arrive within this
	DeadlineMS       int64  `json:"deadline_ms"`        // the attempt's end, whatever heartbeats say
	TimeoutMS        int64  `json:"timeout_ms"`         // the run time that the runner enforces; ends before the deadline
	LogLimitBytes    int64  `json:"log_limit_bytes"`
	// What upload_artifact takes of this attempt: files, and bytes of them all together.
	ArtifactLimitFiles int             `json:"artifact_limit_files,omitempty"`
	ArtifactLimitBytes int64           `json:"artifact_limit_bytes,omitempty"`
	Spec               json.RawMessage `json:"spec"` // canonical JSON of the job spec
	LogURL             string          `json:"log_url"`
	Owner              string          `json:"owner,omitempty"`  // whose job it is, as in jobs; services stay for jobs of the same one alone
	Source             *LeaseSource    `json:"source,omitempty"` // of a job that starts from an archive
	// CacheOwner is whose folders the job may find in the runner's cache, and leave there: its workspace and who submitted
	// it, by their ids. Without it the job has no cache.
	CacheOwner string `json:"cache_owner,omitempty"`
}

// LeaseProof is what every later call of a runner must show.
type LeaseProof struct {
	JobID      string `json:"job_id"`
	Attempt    int    `json:"attempt"`
	LeaseEpoch int64  `json:"lease_epoch"`
	LeaseToken string `json:"lease_token"`
}

// HeartbeatJobArgs renews a lease and tells what the attempt is busy with. With
// WaitMS the call is held until there is a directive.
type HeartbeatJobArgs struct {
	LeaseProof
	Phase    string `json:"phase" jsonschema:"preparing, pulling, starting_services, running, collecting or held"`
	Step     string `json:"step,omitempty"`
	Progress string `json:"progress,omitempty" jsonschema:"one line for people, at most 200 bytes"`
	WaitMS   int64  `json:"wait_ms,omitempty" jsonschema:"hold the call this long for a directive, at most 25000"`

	IdleLeftMS int64 `json:"idle_left_ms,omitempty" jsonschema:"of a session that nobody uses: how long until it ends for that"`

	Held *HoldArgs `json:"held,omitempty" jsonschema:"with phase held: how the attempt failed, and how long its topology stays up"`
}

// HoldArgs tells of an attempt that has failed and is held. The first that the hub takes counts.
type HoldArgs struct {
	LeftMS   int64   `json:"left_ms"`
	Status   string  `json:"status"` // failed or timed_out
	ExitCode *int    `json:"exit_code,omitempty"`
	Failure  Failure `json:"failure"`
}

// States that heartbeat_job answers.
const (
	HeartbeatHeld   = "held"
	HeartbeatCancel = "cancel"
	HeartbeatStale  = "stale"
)

// HeartbeatJobResult tells a runner whether to go on.
type HeartbeatJobResult struct {
	State      string `json:"state"` // held, cancel or stale
	Reason     string `json:"reason,omitempty"`
	GraceMS    int64  `json:"grace_ms,omitempty"`
	TTLMS      int64  `json:"ttl_ms"`
	DeadlineMS int64  `json:"deadline_ms"`

	// Requests are what callers ask of the attempt's containers, each until it has begun, or is to be stopped.
	Requests []ExecOrder `json:"requests,omitempty"`
}

// SubmitJobResultArgs reports an attempt that ran, whether or not it succeeded.
type SubmitJobResultArgs struct {
	LeaseProof
	Result    Result        `json:"result"`
	NextLease *LeaseJobArgs `json:"next_lease,omitempty" jsonschema:"what lease_job takes: the answer brings the next lease, which saves a call"`
}

// FailJobArgs reports an attempt that could not be run at all.
type FailJobArgs struct {
	LeaseProof
	Class   string `json:"class"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// ReleaseJobArgs gives a lease back. It costs the job no attempt.
type ReleaseJobArgs struct {
	LeaseProof
	Reason string `json:"reason,omitempty"`
}

// ReportResult answers submit_job_result, as SettleResult does fail_job. Next answers next_lease as lease_job would;
// when it is missing though it was asked for, the report was taken and work could not be looked for: call lease_job.
type ReportResult struct {
	Accepted  bool            `json:"accepted"`
	Duplicate bool            `json:"duplicate"`
	Requeued  bool            `json:"requeued"`
	Next      *LeaseJobResult `json:"next,omitempty"`
}

// Settled is what the report itself came to.
func (r ReportResult) Settled() SettleResult {
	return SettleResult{Accepted: r.Accepted, Duplicate: r.Duplicate, Requeued: r.Requeued}
}

// SettleResult answers fail_job. Duplicate marks a repeat of a report that the hub already has. Requeued says that
// the job will run again.
type SettleResult struct {
	Accepted  bool `json:"accepted"`
	Duplicate bool `json:"duplicate"`
	Requeued  bool `json:"requeued"`
}

// ReleaseJobResult answers release_job.
type ReleaseJobResult struct {
	Released bool `json:"released"`
}

// Result is what one attempt came to.
type Result struct {
	Status   string            `json:"status"` // succeeded, failed, canceled or timed_out
	ExitCode *int              `json:"exit_code,omitempty"`
	Signal   string            `json:"signal,omitempty"`
	Failure  *Failure          `json:"failure,omitempty"`
	Note     string            `json:"note,omitempty"` // of a session that succeeded: what ended it
	Steps    []StepResult      `json:"steps,omitempty"`
	Outputs  map[string]string `json:"outputs,omitempty"` // at most 64 KiB together
	Images   map[string]string `json:"images,omitempty"`  // reference → digest
	// WarmServices are those that an earlier job had left, so that this one did not wait for them.
	WarmServices []string `json:"warm_services,omitempty"`
	// Artifacts are the first of the files that the attempt left; ArtifactsMore counts the others, which list_artifacts has.
	Artifacts     []ResultArtifact `json:"artifacts,omitempty"`
	ArtifactsMore int              `json:"artifacts_more,omitempty"`
	Tests         *Tests           `json:"tests,omitempty"`   // of its JUnit reports
	Changes       *Changes         `json:"changes,omitempty"` // where the spec collects a patch
	Caches        []CacheResult    `json:"caches,omitempty"`  // as in the spec, where the job came so far
	Usage         Usage            `json:"usage"`
	PhasesMS      map[string]int64 `json:"phases_ms,omitempty"` // phase → how long the attempt was busy with it
	Leaks         Leaks            `json:"leaks"`
	LogBytes      int64            `json:"log_bytes,omitempty"` // the log's whole size, so that a reader knows its end
}

// Changes counts what an attempt has changed of its source. The artifact patch has it.
type Changes struct {
	Added    int `json:"added"`
	Modified int `json:"modified"`
	Deleted  int `json:"deleted"`
	LeftOut  int `json:"left_out,omitempty"` // changed files that are not in the patch; its head and the log name them
	Ignored  int `json:"ignored,omitempty"`  // new files that an ignore file of the source names
}

// CacheResult is what became of an entry of the spec's cache.
type CacheResult struct {
	Key           string `json:"key"`
	Hit           string `json:"hit"` // exact, prefix (an entry of another key was restored) or none
	RestoredKey   string `json:"restored_key,omitempty"`
	RestoredBytes int64  `json:"restored_bytes"`
	SavedBytes    int64  `json:"saved_bytes"` // 0 where nothing was saved
}

// MaxResultArtifacts is how many artifacts a result lists.
const MaxResultArtifacts = 100

// MaxResultCaches is how many caches a job can have.
const MaxResultCaches = 10

// ResultArtifact is a file that an attempt left and the hub has.
type ResultArtifact struct {
	Name   string `json:"name"`
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // hexadecimal
}

// Tests counts the test cases of an attempt's reports.
type Tests struct {
	Passed  int      `json:"passed"`
	Failed  int      `json:"failed"`
	Skipped int      `json:"skipped"`
	Failing []string `json:"failing,omitempty"` // names of failed ones, at most 50
	// Failures are what the first of them, at most 20, said.
	Failures []TestFailure `json:"failures,omitempty"`
	Unread   int           `json:"unread,omitempty"` // reports that could not be read, or not to their end
}

// TestFailure is what a report says of a test that failed: the first lines of its message,
// and where it failed, as far as that is known.
type TestFailure struct {
	Name    string `json:"name"`
	Message string `json:"message,omitempty"` // at most about 500 bytes
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
}

// Failure says why an attempt or job did not succeed.
type Failure struct {
	Class     string `json:"class"`
	Message   string `json:"message"`
	Hint      string `json:"hint,omitempty"`
	Container string `json:"container,omitempty"` // job or a service's name
}

// StepResult is the outcome of one step.
type StepResult struct {
	Name       string     `json:"name"`
	Status     string     `json:"status"` // succeeded, failed, canceled, timed_out or skipped
	ExitCode   *int       `json:"exit_code,omitempty"`
	Signal     string     `json:"signal,omitempty"`
	StartedAt  *time.Time `json:"started_at,omitempty"`
	DurationMS int64      `json:"duration_ms"`
}

// Usage is what an attempt consumed.
type Usage struct {
	CPUMS           int64 `json:"cpu_ms"`
	MemoryPeakBytes int64 `json:"memory_peak_bytes"`
	WallMS          int64 `json:"wall_ms"`
	DiskPeakBytes   int64 `json:"disk_peak_bytes,omitempty"` // only where resources.disk sets a limit
	PulledBytes     int64 `json:"pulled_bytes,omitempty"`    // of images, over the network
}

// Leaks counts what was still on the machine after removal.
type Leaks struct {
	Containers int `json:"containers"`
	Networks   int `json:"networks"`
	Volumes    int `json:"volumes"`
}

// PutLogResult answers PUT log_url?offset=N. Body: up to 256 KiB. A refused gap
// is a conflict whose details carry next_offset.
type PutLogResult struct {
	NextOffset int64 `json:"next_offset"`
}

// MaxLogChunk is the largest body of one PUT to a log URL, in bytes.
const MaxLogChunk = 256 << 10
