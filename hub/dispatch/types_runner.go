package dispatch

import (
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// LeaseRequest asks for work.
type LeaseRequest struct {
	Fresh     bool          // the caller cannot have sent RequestID before: no lease of it is looked for
	RequestID string        // 1 to 64 bytes; the same again gets the same lease
	Wait      time.Duration // at most MaxWait
	// Presence is what the runner tells of itself. Capabilities are filtered here, and SeenAt and LeftAt are set here.
	Presence hub.Presence
	Leaving  bool // the runner ends now
	// Policy outlines what the machine's owner allows, as topology/policy writes it; nothing where the runner does not tell.
	Policy []byte
}

// Directive is what a hub tells a runner besides a lease.
type Directive string

// The directives, in the wire contract's words.
const (
	DirectiveUpdateRequired Directive = "update_required"
	DirectiveDrain          Directive = "drain"
	DirectiveUnpaired       Directive = "unpaired"
)

// LeaseResult carries a lease, or none when the wait ended without work.
type LeaseResult struct {
	Lease      *Lease
	Directives []Directive
	HubID      string
}

// Lease is the right to run one attempt; durations count from the answer.
type Lease struct {
	JobID          string
	Owner          hub.Owner // whose job it is
	Proof          hub.Proof
	TTL            time.Duration
	Heartbeat      time.Duration
	FirstHeartbeat time.Duration
	Deadline       time.Duration
	Timeout        time.Duration
	LogLimit       int64
	MaxArtifacts   int
	ArtifactBytes  int64  // of all artifacts together
	Spec           []byte // canonical JSON
	LogToken       string // the cap_ credential of the attempt's log
	SourceToken    string // and of its source; "" where the job starts from no archive
	CacheOwner     string // whose entries of the runner's cache the job may use
}

// HeartbeatRequest renews a lease.
type HeartbeatRequest struct {
	JobID    string
	Proof    hub.Proof
	Phase    string          // preparing, pulling, starting_services, running, collecting or held
	Step     string          // at most 256 bytes
	Progress string          // at most 200 bytes
	IdleLeft time.Duration   // of a session that nobody uses: until it ends for that
	Held     *hub.HoldReport // with phase held: how the attempt failed
	Wait     time.Duration
}

// HeartbeatState tells a runner whether to go on.
type HeartbeatState string

// The heartbeat states, in the wire contract's words.
const (
	HeartbeatHeld   HeartbeatState = "held"
	HeartbeatCancel HeartbeatState = "cancel" // stop within Grace and report
	HeartbeatStale  HeartbeatState = "stale"  // kill the containers at once
)

// HeartbeatResult answers a heartbeat.
type HeartbeatResult struct {
	State    HeartbeatState
	Reason   string        // of a cancel
	Grace    time.Duration // of a cancel
	TTL      time.Duration // left of the lease
	Deadline time.Duration // left of the attempt
	Orders   []ExecOrder   // what callers ask of the attempt's containers
}

// SettleRequest reports an attempt's end.
type SettleRequest struct {
	JobID   string
	Proof   hub.Proof
	State   hub.JobState      // succeeded, failed, canceled or timed_out
	Note    string            // what ended a session that succeeded, at most 200 bytes
	Failure *hub.Failure      // unless it succeeded; filled in for canceled and timed_out
	Outputs map[string]string // at most 64 KiB together
	Result  []byte            // JSON of the wire contract, at most Policy.MaxResultBytes; nil for fail_job
}

// SettleResult answers a report.
type SettleResult struct {
	Accepted  bool
	Duplicate bool // the hub has this very report already
	Requeued  bool // the job will run again
}

// ReleaseRequest gives a lease back, at no cost to the job.
type ReleaseRequest struct {
	JobID  string
	Proof  hub.Proof
	Reason string // at most 200 bytes
}

// MaxLogChunk is the most bytes that one AppendLog takes.
const MaxLogChunk = 256 << 10

// MaxOutputBytes is the most that a result's outputs may take, keys and values together.
const MaxOutputBytes = 64 << 10
