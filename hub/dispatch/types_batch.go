package dispatch

import (
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// MaxBatch is the most jobs of one batch.
const MaxBatch = 100

// BatchRequest stores a job for each entry of a matrix.
type BatchRequest struct {
	JobRequest          // Spec is what the jobs have in common; it need not be whole, and may be absent
	Matrix     [][]byte // for each job the changes to Spec, see topology.Draft; 1 to MaxBatch
	// IdempotencyKey is of at most 125 bytes, scoped to the caller. Each job has one derived from it, so
	// that a call that was cut short is taken up where it stopped.
	IdempotencyKey string
}

// BatchResult is what was stored.
type BatchResult struct {
	ID   string
	Jobs []hub.QueuedJob // in the matrix's order; fewer than it has entries when Err says why
	// Existing counts those that an earlier call with the same key had stored.
	Existing int
	Notices  []Notice // each code once
	// Err is what stopped it after some jobs had been stored; the same call with Key stores the rest.
	Err error
	Key string
}

// WaitBatchRequest waits for the jobs of a batch.
type WaitBatchRequest struct {
	BatchID      string
	FirstFailure bool          // answer as soon as one has failed, see Failed
	Wait         time.Duration // at most MaxWait
}

// BatchView is a batch as it stands.
type BatchView struct {
	ID    string
	Done  bool            // what was waited for has come
	Ended bool            // all of its jobs have ended
	Jobs  []hub.QueuedJob // in the matrix's order, without specs
}

// Failed says whether a job ended otherwise than succeeded, or is held after it did. One that somebody canceled did not fail.
func Failed(j hub.Job) bool {
	return j.Held != nil || j.State.Ended() && j.State != hub.JobSucceeded && j.State != hub.JobCanceled
}
