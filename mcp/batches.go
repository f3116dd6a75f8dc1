package mcp

import "encoding/json"

// SubmitJobsArgs stores a batch: a job for each entry of Matrix (1 to 100), which is a JSON merge patch (RFC 7396) on
// Spec. Spec need not be whole, and may be absent. With an IdempotencyKey (at most 125 bytes) the same call again
// answers the same batch, and stores what a call that was cut short had not.
type SubmitJobsArgs struct {
	Spec   json.RawMessage   `json:"spec,omitempty" jsonschema:"what the jobs have in common"`
	Matrix []json.RawMessage `json:"matrix" jsonschema:"per job its changes to spec: a JSON merge patch"`
	JobPlacement
	IdempotencyKey string `json:"idempotency_key,omitempty"`
}

// SubmitJobsResult is what was stored, in the matrix's order.
type SubmitJobsResult struct {
	BatchID string     `json:"batch_id"`
	Jobs    []BatchJob `json:"jobs"`
	// Existing counts the jobs that an earlier call with the same key had stored.
	Existing int      `json:"existing,omitempty"`
	Notices  []Notice `json:"notices,omitempty"`
	// Stopped says why not all were stored; the same call with idempotency_key RetryKey stores the rest.
	Stopped  *Error `json:"stopped,omitempty"`
	RetryKey string `json:"retry_key,omitempty"`
}

// BatchJob is a job of a batch in short. get_job has the rest.
type BatchJob struct {
	Index int    `json:"index"` // of its entry in the matrix
	JobID string `json:"job_id"`
	Name  string `json:"name,omitempty"`
	State string `json:"state"`
	Phase string `json:"phase,omitempty"`
	Step  string `json:"step,omitempty"`
	// Canceling: it was told to end, and its runner has not said that it has.
	Canceling bool     `json:"canceling,omitempty"`
	Failure   *Failure `json:"failure,omitempty"`
}

// BatchRef names a batch.
type BatchRef struct {
	BatchID string `json:"batch_id"`
}

// WaitJobsArgs waits for a batch.
type WaitJobsArgs struct {
	BatchRef
	Until  string `json:"until,omitempty"` // all or first_failure
	WaitMS int64  `json:"wait_ms,omitempty"`
}

// CancelJobsArgs cancels the jobs of a batch that have not ended.
type CancelJobsArgs struct {
	BatchRef
	Reason string `json:"reason,omitempty"`
}

// BatchResult is a batch as it stands.
type BatchResult struct {
	BatchID string         `json:"batch_id"`
	Done    bool           `json:"done"`   // what was waited for has come
	Total   int            `json:"total"`  // jobs
	Counts  map[string]int `json:"counts"` // of jobs by state
	// Failed are jobs that ended neither succeeded nor canceled, or are held after that; Active those that have not ended. Of each
	// at most 20; list_jobs with the batch_id has all. Canceling counts those of Active that are being canceled.
	Failed []BatchJob `json:"failed"`
	Active []BatchJob `json:"active"`

	Canceling int `json:"canceling,omitempty"`
}
