package mcp

import (
	"encoding/json"
	"time"
)

// JobRequest is what submit_job and check_job have in common.
type JobRequest struct {
	Spec json.RawMessage `json:"spec" jsonschema:"YAML or JSON text, or an object"`
	JobPlacement
}

// JobPlacement says where a job goes.
type JobPlacement struct {
	Target    string `json:"target,omitempty" jsonschema:"self (any of my runners, the default), workspace (any of its), or a runner's id or label"`
	Workspace string `json:"workspace,omitempty" jsonschema:"its slug; default: my first"`
	Priority  int    `json:"priority,omitempty" jsonschema:"higher runs first, default 0"`
}

// SubmitJobArgs stores a job. With an IdempotencyKey (at most 128 bytes, scoped
// to the caller, kept for 24 h at least) the same call again returns the same job; the same key with
// another job is a conflict.
type SubmitJobArgs struct {
	JobRequest
	IdempotencyKey string `json:"idempotency_key,omitempty"`
	WaitMS         int64  `json:"wait_ms,omitempty" jsonschema:"how long to wait for its end"`
}

// SubmitJobResult is the job, as far as it got.
type SubmitJobResult struct {
	Job      Job  `json:"job"`
	Existing bool `json:"existing"` // true: the idempotency key had stored it before
	// Notices say what is in the way of a job that was stored all the same.
	Notices []Notice `json:"notices,omitempty"`
}

// Notice is a warning that refuses nothing.
type Notice struct {
	Code    string `json:"code"` // no_runner, or the reason code of a runner
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// CheckJobArgs is a submit that stores nothing.
type CheckJobArgs struct {
	JobRequest
	SourceFollows bool `json:"source_follows,omitempty" jsonschema:"a source will be uploaded for it"`
}

// CheckJobResult says whether a spec is valid and who could run it.
type CheckJobResult struct {
	Valid    bool           `json:"valid"`
	Problems []SpecProblem  `json:"problems"`
	Runners  []RunnerReason `json:"runners"`
	Reasons  []Reason       `json:"reasons,omitempty"` // what stands in the way at all of them
	Summary  string         `json:"summary"`
	Next     []string       `json:"next,omitempty"` // what would let it start, as sentences
}

// SpecProblem is one fault of a job spec.
type SpecProblem struct {
	Field   string `json:"field,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// RunnerReason is why one runner could or could not take a job.
type RunnerReason struct {
	RunnerID string   `json:"runner_id"`
	Label    string   `json:"label"`
	Eligible bool     `json:"eligible"` // capable and allowed, though perhaps busy or offline
	Reasons  []Reason `json:"reasons"`
}

// Reason is one cause in code and words.
type Reason struct {
	// Code is, of a runner, ready, busy, stale, offline, draining, revoked, update_required, missing_capability,
	// missing_label or owner_differs, and where no runner of the queue can help cap_reached or group_busy.
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Job is a job as its readers see it.
type Job struct {
	ID          string     `json:"id"`
	Name        string     `json:"name,omitempty"`
	State       string     `json:"state"` // queued, leased, running, succeeded, failed, canceled, timed_out or rejected
	Owner       string     `json:"owner"` // user:ID or ws:ID: whose runner runs it, and who pays
	Workspace   string     `json:"workspace,omitempty"`
	Target      string     `json:"target"` // self, workspace or a runner's id
	Priority    int        `json:"priority"`
	Group       string     `json:"concurrency_group,omitempty"`
	SubmittedBy string     `json:"submitted_by"`
	Attempt     int        `json:"attempt"` // number of the latest attempt, 0 before the first
	Attempts    []Attempt  `json:"attempts,omitempty"`
	RunnerID    string     `json:"runner_id,omitempty"`
	RunnerLabel string     `json:"runner_label,omitempty"`
	Phase       string     `json:"phase,omitempty"`
	Step        string     `json:"step,omitempty"`
	Progress    string     `json:"progress,omitempty"`
	Canceling   bool       `json:"canceling,omitempty"`
	Held        *Held      `json:"held,omitempty"` // it has failed, and its topology is kept
	Failure     *Failure   `json:"failure,omitempty"`
	Result      *Result    `json:"result,omitempty"`
	RetryOf     string     `json:"retry_of,omitempty"`
	BatchID     string     `json:"batch_id,omitempty"`
	CreatedAt   time.Time  `json:"created_at"`
	StartedAt   *time.Time `json:"started_at,omitempty"`
	FinishedAt  *time.Time `json:"finished_at,omitempty"`
	DurationMS  int64      `json:"duration_ms,omitempty"`
	LogBytes    int64      `json:"log_bytes,omitempty"`

	Spec json.RawMessage `json:"spec,omitempty"` // get_job only
}

// Attempt is one execution of a job.
type Attempt struct {
	Number     int        `json:"number"`
	State      string     `json:"state"` // leased, running, succeeded, failed, canceled, timed_out, lost or released
	RunnerID   string     `json:"runner_id"`
	LeasedAt   time.Time  `json:"leased_at"`
	StartedAt  *time.Time `json:"started_at,omitempty"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`
	Failure    *Failure   `json:"failure,omitempty"`
}

// JobRef names a job.
type JobRef struct {
	JobID string `json:"job_id"`
}

// GetJobResult is the whole job.
type GetJobResult struct {
	Job Job `json:"job"`
}

// WaitJobArgs waits for a change since Cursor. Without a cursor it answers at once with the state and
// the log's last lines.
type WaitJobArgs struct {
	JobID  string `json:"job_id"`
	Cursor string `json:"cursor,omitempty"`
	WaitMS int64  `json:"wait_ms,omitempty" jsonschema:"how long to wait"`
	Follow string `json:"follow,omitempty" jsonschema:"what to wait for: new lines or a new state, or the end"`
	Raw    bool   `json:"raw,omitempty" jsonschema:"as written"`
}

// WaitJobResult is what happened since the cursor.
type WaitJobResult struct {
	JobID      string    `json:"job_id"`
	State      string    `json:"state"`
	Phase      string    `json:"phase,omitempty"`
	Step       string    `json:"step,omitempty"`
	Held       *Held     `json:"held,omitempty"` // it has failed, and its topology is kept; failure and exit_code say how
	Done       bool      `json:"done"`           // the job has ended and all of its log was given
	ExitCode   *int      `json:"exit_code,omitempty"`
	Failure    *Failure  `json:"failure,omitempty"`
	Telling    []LogLine `json:"telling,omitempty"` // of a job that failed: the lines of its log that say most about why
	Tests      *Tests    `json:"tests,omitempty"`   // with done: of its reports, and of the first failed tests what they said
	Lines      []LogLine `json:"lines"`
	Omitted    int64     `json:"omitted_bytes,omitempty"` // log bytes between the cursor and the first line that were left out
	NextCursor string    `json:"next_cursor"`
}

// LogLine is one line of a job's log. Partial marks a piece of a line that
// goes on in the next one. Bytes that are not UTF-8 are replaced in Text; Base64 then has them as
// they were.
type LogLine struct {
	Time    time.Time `json:"time"`
	Stream  string    `json:"stream"` // stdout, stderr or system
	Step    string    `json:"step,omitempty"`
	Service string    `json:"service,omitempty"`
	Text    string    `json:"text"`
	Base64  string    `json:"base64,omitempty"`
	Partial bool      `json:"partial,omitempty"`
	Repeats int       `json:"repeats,omitempty"` // lines left out since they repeat this one, or are earlier pictures of its progress bar
}

// ListJobsArgs filters and pages jobs, the newest first.
type ListJobsArgs struct {
	State     string     `json:"state,omitempty" jsonschema:"one state, or active or ended"`
	Runner    string     `json:"runner,omitempty" jsonschema:"a runner's id"`
	Label     string     `json:"label,omitempty" jsonschema:"of the runner"`
	Workspace string     `json:"workspace,omitempty"`
	BatchID   string     `json:"batch_id,omitempty"`
	Since     *time.Time `json:"since,omitempty"`
	Until     *time.Time `json:"until,omitempty"`
	Limit     int        `json:"limit,omitempty"`
	Cursor    string     `json:"cursor,omitempty"`
}

// ListJobsResult is one page.
type ListJobsResult struct {
	Jobs       []Job  `json:"jobs"`
	NextCursor string `json:"next_cursor,omitempty"`
}

// CancelJobArgs cancels a job in any state before its end.
type CancelJobArgs struct {
	JobID  string `json:"job_id"`
	Reason string `json:"reason,omitempty" jsonschema:"shown to readers of the job, at most 200 bytes"`
}

// CancelJobResult is the job after the call; a job that runs is canceling until its runner has stopped it.
type CancelJobResult struct {
	Job Job `json:"job"`
}

// RetryJobArgs runs an ended job's spec again, as a new job. Changes are a JSON merge patch (RFC 7396) on its spec as get_job
// shows it.
type RetryJobArgs struct {
	JobID          string          `json:"job_id"`
	Changes        json.RawMessage `json:"changes,omitempty" jsonschema:"to its spec: a JSON merge patch, such as {\"env\": {\"DEBUG\": \"1\"}}"`
	IdempotencyKey string          `json:"idempotency_key,omitempty"`
}

// ExplainJobResult says why a job is not running, or how it ended.
type ExplainJobResult struct {
	JobID    string         `json:"job_id"`
	State    string         `json:"state"`
	Summary  string         `json:"summary"`            // one sentence
	Position int            `json:"position,omitempty"` // in its queue, from 1
	Runners  []RunnerReason `json:"runners"`
	Reasons  []Reason       `json:"reasons,omitempty"` // what stands in the way at all of them
	Failure  *Failure       `json:"failure,omitempty"`
	Next     []string       `json:"next"` // what would unblock it or help, as sentences
	Timeline []TimelineItem `json:"timeline"`
	LogTail  []LogLine      `json:"log_tail"`          // of a job that failed
	Telling  []LogLine      `json:"telling,omitempty"` // of a job that failed: the lines that say most about why
	// Tests and Outputs are what the last attempt reported.
	Tests   *Tests            `json:"tests,omitempty"`
	Outputs map[string]string `json:"outputs,omitempty"`
}

// TimelineItem is one event of a job's life.
type TimelineItem struct {
	Time    time.Time `json:"time"`
	Action  string    `json:"action"`
	Actor   string    `json:"actor"`
	Message string    `json:"message,omitempty"`
}

// ReadJobLogArgs reads a job's log: its tail by default.
type ReadJobLogArgs struct {
	JobID   string `json:"job_id"`
	Attempt int    `json:"attempt,omitempty" jsonschema:"default: the latest"`
	From    string `json:"from,omitempty" jsonschema:"start, end, or a cursor of an earlier answer"`
	Lines   int    `json:"lines,omitempty" jsonschema:"at most"`
	Grep    string `json:"grep,omitempty" jsonschema:"RE2 expression"`
	Errors  bool   `json:"errors,omitempty" jsonschema:"only lines that say what failed, why and where"`
	Context int    `json:"context,omitempty" jsonschema:"lines around each match"`
	Raw     bool   `json:"raw,omitempty" jsonschema:"as written"`
	Step    string `json:"step,omitempty"`
	Service string `json:"service,omitempty"`
	Stream  string `json:"stream,omitempty"`
}

// ReadJobLogResult is a part of a log, at most about 32 KiB of text.
type ReadJobLogResult struct {
	JobID      string    `json:"job_id"`
	Attempt    int       `json:"attempt"`
	Lines      []LogLine `json:"lines"`
	NextCursor string    `json:"next_cursor,omitempty"` // where to read on, absent at the log's end
	PrevCursor string    `json:"prev_cursor,omitempty"` // where the part before this one ends, absent at its start
	LogBytes   int64     `json:"log_bytes"`
	Note       string    `json:"note"` // what was left out and how to get it
}
