package hub

import "time"

// AttemptState is where one execution of a job is in its life.
type AttemptState string

// The states of an attempt: leased → running → an end.
const (
	AttemptLeased    AttemptState = "leased"
	AttemptRunning   AttemptState = "running"
	AttemptSucceeded AttemptState = "succeeded"
	AttemptFailed    AttemptState = "failed"
	AttemptCanceled  AttemptState = "canceled"
	AttemptTimedOut  AttemptState = "timed_out"
	AttemptLost      AttemptState = "lost"     // its runner went silent
	AttemptReleased  AttemptState = "released" // given back, at no cost
)

// Live says whether the attempt may still report.
func (s AttemptState) Live() bool { return s == AttemptLeased || s == AttemptRunning }

// Attempt is one execution: provenance, stamped by the hub from its own lease.
type Attempt struct {
	JobID        string
	Number       int // identity is (JobID, Number), from 1
	RunnerID     string
	Epoch        int64
	State        AttemptState
	LeaseDigest  []byte // SHA-256 of the nonce, kept so that late log bytes and repeated reports can prove themselves
	LogDigest    []byte // SHA-256 of the log's cap_ token
	LeasedAt     time.Time
	StartedAt    time.Time
	EndedAt      time.Time
	Failure      *Failure
	ReportDigest []byte // SHA-256 of the report that settled it, to tell a repeat from another one
	Result       []byte // the result as reported, JSON of the wire contract; kept apart from the row
	LogSize      int64  // bytes of log received; maintained by AppendLog
}
