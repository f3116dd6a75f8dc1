package hub

import (
	"math"
	"time"
)

// JobState is where a job is in its life.
type JobState string

// The states of a job: queued → leased → running → an end, and queued → rejected.
const (
	JobQueued    JobState = "queued"
	JobLeased    JobState = "leased"  // handed to a runner, not yet acknowledged
	JobRunning   JobState = "running" // acknowledged by a first heartbeat
	JobSucceeded JobState = "succeeded"
	JobFailed    JobState = "failed"
	JobCanceled  JobState = "canceled"
	JobTimedOut  JobState = "timed_out"
	JobRejected  JobState = "rejected" // never ran: no runner, or a capability missing
)

// Ended says whether the state is terminal.
func (s JobState) Ended() bool {
	switch s {
	case JobSucceeded, JobFailed, JobCanceled, JobTimedOut, JobRejected:
		return true
	}
	return false
}

// Live says whether an attempt holds the job.
func (s JobState) Live() bool { return s == JobLeased || s == JobRunning }

// Job is the narrow, mutable row of a job: what the machine decides on. What
// never changes after enqueue is in JobPayload.
type Job struct {
	ID          string // job_<uuid v7>, so that ids sort by time
	WorkspaceID string // the tenant
	Owner       Owner  // whose runner runs it, and who pays
	RunnerID    string // the named runner, "" for the pool
	Group       string // of the workspace's concurrency groups, "" for none: at most one of its jobs is live
	State       JobState
	Revision    int64 // grows with every write; the guard of all of them
	Priority    int   // as submitted; higher first
	// Rank orders a queue, lower first, and never changes: see RankOf. A job that is queued again is thereby
	// ahead of all that came after it.
	Rank int

	Attempt     int   // number of the latest attempt, 0 before the first
	Epoch       int64 // of the latest lease; only grows
	Losses      int   // attempts that count against MaxAttempts
	MaxAttempts int

	// The lease, while State is leased or running.
	LeaseRunnerID  string
	LeaseDigest    []byte // SHA-256 of the nonce
	LeaseRequestID string
	LeaseExpiresAt time.Time
	DeadlineAt     time.Time

	Phase    string
	Step     string
	Progress string

	CancelRequestedAt time.Time // zero: not asked for
	CancelReason      string

	Held *Held // how the live attempt failed, while its topology is kept; nil otherwise

	Failure   *Failure // why it ended otherwise than succeeded, or of a held attempt will end
	CreatedAt time.Time
	QueuedAt  time.Time // when it last entered the queue
	StartedAt time.Time // of the latest attempt's first heartbeat
	EndedAt   time.Time
}

// QueueKey is the queue that the job waits in.
func (j Job) QueueKey() QueueKey { return NewQueueKey(j.Owner, j.RunnerID) }

// GroupKey names the job's concurrency group; its Name is "" when it is in none.
func (j Job) GroupKey() Group { return Group{WorkspaceID: j.WorkspaceID, Name: j.Group} }

// Group names a concurrency group, which belongs to one workspace.
type Group struct {
	WorkspaceID string
	Name        string
}

// rankEpoch is when ranks begin. In seconds they fit 32 bits for 68 years from then.
var rankEpoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// RankOf computes Job.Rank: when the job was created, in seconds, and earlier by Policy.PriorityAge for each point of
// priority. So a job waits for at most as long as its priority is behind, whatever comes after it, and
// nobody has to write to a job for it to grow older. Jobs of one rank go by their ids, which sort by time.
func RankOf(priority int, created time.Time, p Policy) int {
	seconds := created.Sub(rankEpoch)/time.Second - time.Duration(priority)*(p.PriorityAge/time.Second)
	return int(min(max(seconds, -math.MaxInt32), math.MaxInt32))
}

// JobPayload is what never changes after enqueue; a store keeps it apart from the row.
type JobPayload struct {
	JobID    string
	Name     string
	Spec     []byte // canonical JSON
	Requires []string
	Labels   []string
	Timeout  time.Duration // of an attempt, the policy's default applied
	Grace    time.Duration // SIGTERM to SIGKILL, the default applied
	Hold     time.Duration // how long the topology stays up after a failure; 0: not at all
	Exec     bool          // commands may be run in it while it runs, and not only while it is held
	RetryOn  []Class       // empty: every infrastructure class
	// Needs is what the job asks of the owner of its runner: JSON of package topology/policy, "" for nothing.
	Needs       string
	SubmittedBy string // user id
	RetryOf     string // the job that this one repeats
	BatchID     string // of the jobs that were submitted in one call, "" for none
	// CancelRunning asks for the cancel of the job that holds the concurrency group when this one comes.
	CancelRunning bool
}

// Failure says why an attempt or job did not succeed.
type Failure struct {
	Class     Class
	Message   string
	Hint      string
	Container string
}

// Infrastructure says whether a failure is the machine's fault, as its class says. A disk
// that is full for one container alone is that container's own limit, which is the same anywhere.
func (f Failure) Infrastructure() bool {
	return f.Class.Infrastructure() && (f.Class != ClassDiskFull || f.Container == "")
}

// Class is the cause of a failure.
type Class string

// The failure classes.
const (
	ClassScript            Class = "script"
	ClassOOM               Class = "oom"
	ClassTimeout           Class = "timeout"
	ClassImagePull         Class = "image_pull"
	ClassServiceUnhealthy  Class = "service_unhealthy"
	ClassSource            Class = "source"
	ClassArtifact          Class = "artifact"
	ClassSpecInvalid       Class = "spec_invalid"
	ClassCapabilityMissing Class = "capability_missing"
	ClassNoRunner          Class = "no_runner"
	ClassRunnerLost        Class = "runner_lost"
	ClassDockerUnavailable Class = "docker_unavailable"
	ClassDiskFull          Class = "disk_full"
	ClassPolicyDenied      Class = "policy_denied"
	ClassCanceled          Class = "canceled"
	ClassInternal          Class = "internal"
)

// Known says whether the class is one of the above.
func (c Class) Known() bool {
	switch c {
	case ClassScript, ClassOOM, ClassTimeout, ClassArtifact, ClassSpecInvalid, ClassCapabilityMissing, ClassNoRunner, ClassPolicyDenied, ClassCanceled:
		return true
	}
	return c.Infrastructure()
}

// Infrastructure says whether a failure of this class is the machine's fault and
// not the job's, so that it is retried unless the spec says otherwise. An artifact that is missing or too large is the
// job's: a runner that cannot reach the hub tries on until its lease is over.
func (c Class) Infrastructure() bool {
	switch c {
	case ClassImagePull, ClassServiceUnhealthy, ClassSource, ClassRunnerLost,
		ClassDockerUnavailable, ClassDiskFull, ClassInternal:
		return true
	}
	return false
}
