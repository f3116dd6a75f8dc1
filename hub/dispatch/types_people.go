package dispatch

import (
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/topology"
)

// Targets that are no runner.
const (
	TargetSelf      = "self"      // any runner of the caller's own
	TargetWorkspace = "workspace" // any runner of the workspace
)

// JobRequest is a job to be submitted or checked.
type JobRequest struct {
	Spec      []byte // YAML or JSON text, at most Policy.MaxSpecBytes
	Target    string // TargetSelf ("" too), TargetWorkspace, or a runner's id or label
	Workspace string // slug of the tenant; "" is the caller's first
	Priority  int    // -100 to 100, higher first
	// SourceFollows tells Check that the spec gets an archive as its source before it is submitted.
	SourceFollows bool
}

// SubmitRequest stores a job.
type SubmitRequest struct {
	JobRequest
	IdempotencyKey string        // at most 128 bytes, scoped to the caller
	Wait           time.Duration // for the job's end, at most MaxWait
	// Progress is told what happens while the call waits, a second apart at least; nil: nobody asked.
	Progress func(Progress)
}

// SubmitResult is the job, as far as it got.
type SubmitResult struct {
	Job      JobView
	Existing bool // its idempotency key had stored it before
	// Notices say what is in the way of a job that was stored: that no runner can take it, or that none is there.
	Notices []Notice
}

// JobView is a job as its readers see it.
type JobView struct {
	Job       hub.Job
	Payload   hub.JobPayload // Spec only from Get, Submit and Retry
	Workspace string         // slug of the tenant, "" when it is gone
	Target    string         // self, workspace, or a runner's id
	// RunnerID and RunnerLabel name the runner that runs or ran it, or that it waits for.
	RunnerID    string
	RunnerLabel string
	// Attempts are all executions, the oldest first, and Result is the last one's report (JSON of the
	// wire contract). List leaves both out.
	Attempts []hub.Attempt
	Result   []byte
	LogSize  int64 // bytes of the latest attempt's log
}

// CheckResult says whether a spec is valid and who could run it.
type CheckResult struct {
	Valid    bool
	Problems []SpecProblem
	Runners  []RunnerReason
	Reasons  []hub.Reason // what stands in the way at all of them
	Summary  string       // one sentence
	Next     []string     // what would let it start, as sentences
}

// SpecProblem is one fault of a job spec; errors carry a list of them as details "problems".
type SpecProblem = topology.Problem

// RunnerReason is why one runner could or could not take a job.
type RunnerReason struct {
	RunnerID string
	Label    string
	Eligible bool // capable and allowed, though perhaps busy or offline
	Reasons  []hub.Reason
}

// WaitRequest waits for a change since Cursor.
type WaitRequest struct {
	JobID string
	// Cursor is NextCursor of an earlier answer (of Wait or ReadLog), "start" for the whole log,
	// or "" for the state and the log's last lines at once.
	Cursor   string
	Wait     time.Duration // at most MaxWait
	UntilEnd bool          // answer only when the job has ended or the answer is full
	Raw      bool          // lines as they were written, see ReadLogRequest
	// Progress is told what happens while the call waits, a second apart at least; nil: nobody asked.
	Progress func(Progress)
}

// WaitResult is what happened since the cursor.
type WaitResult struct {
	Job        hub.Job
	Done       bool   // the job has ended and all of its log was given
	Result     []byte // JSON of the wire contract, of an ended job that was reported
	Lines      []LogLine
	Telling    []LogLine // of a job that failed: the lines of its log, at most three, that say most about why
	Omitted    int64     // bytes of log between the cursor and the first line that were left out
	NextCursor string
}

// LogLine is one line of a log, or a piece of one.
type LogLine struct {
	Time    time.Time
	Stream  string // stdout, stderr or system
	Step    string
	Service string
	Text    []byte // any bytes, without the line's end
	Partial bool   // the line goes on in the next piece of the same stream and source
	Repeats int    // lines after it that were left out since they repeat it, or are earlier pictures of its progress bar
}

// ListRequest filters and pages jobs, the newest first.
type ListRequest struct {
	States    []hub.JobState
	RunnerID  string // that ran, runs or is to run it
	Label     string // the same by the runner's label
	Workspace string // slug of the tenant
	BatchID   string
	Since     time.Time
	Until     time.Time
	Limit     int // 1 to 100, 0 is 20
	Cursor    string
}

// ListResult is one page.
type ListResult struct {
	Jobs       []JobView
	NextCursor string // "" on the last page
}

// RetryRequest runs an ended job's spec again, as a new job.
type RetryRequest struct {
	JobID          string
	Changes        []byte // merge patch on the spec, see topology.Draft; none for the same spec
	IdempotencyKey string
}

// Explanation says why a job is not running, or how it ended.
type Explanation struct {
	Job      hub.Job
	Summary  string // one sentence
	Position int    // in its queue, from 1; 0 when it does not wait
	Runners  []RunnerReason
	Reasons  []hub.Reason // what stands in the way at all of them, while it waits
	Failure  *hub.Failure
	Next     []string // what would unblock it or help, as sentences
	Timeline []TimelineItem
	LogTail  []LogLine // of a job that failed
	Telling  []LogLine // of a job that failed: the lines, at most three, that say most about why
	Result   []byte    // of the last attempt, as its runner reported it; nil for none
}

// TimelineItem is one event of a job's life.
type TimelineItem struct {
	Time    time.Time
	Action  hub.Action
	Actor   string
	Attempt int
	Message string
}

// Where ReadLog starts, besides a cursor.
const (
	FromStart = "start"
	FromEnd   = "end"
)

// ReadLogRequest reads a part of a job's log.
type ReadLogRequest struct {
	JobID   string
	Attempt int    // 0 is the latest
	From    string // FromEnd ("" too): the last lines; FromStart; or a cursor of an earlier answer
	Lines   int    // 1 to 1000, 0 is 100
	Grep    string // RE2, at most 1 KiB
	Errors  bool   // only lines that say that or why something failed, and where
	Context int    // lines around each that Grep or Errors find, 0 to 20
	Step    string
	Service string
	Stream  string // stdout, stderr or system
	Raw     bool   // lines as they were written: with escape sequences, and each that repeats the one before
}

// LogPage is a part of a log, at most about 32 KiB of text.
type LogPage struct {
	JobID      string
	Attempt    int
	Lines      []LogLine
	NextCursor string // where to read on, "" at the log's end
	PrevCursor string // reads what comes before, "" at the log's start
	LogBytes   int64  // of the whole log
	Note       string // what was left out and how to get it
}
