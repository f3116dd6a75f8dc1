package hub

import "time"

// Event is one line of the audit log: who did what, on whose behalf, and from
// where. A store writes it in the transaction of the change that it tells of.
// Renewing a lease, presence, log bytes and artifacts are no events: they change nothing that was decided.
type Event struct {
	ID          int64 // given by the store, grows
	Time        time.Time
	Actor       string // Principal.Actor
	OnBehalfOf  string // the job's submitter or the runner's owner, where that is another
	Action      Action
	Address     string // where the call came from
	Owner       Owner
	WorkspaceID string
	JobID       string
	Attempt     int
	RunnerID    string
	Detail      map[string]string // never a secret
}

// Action is what an event tells of.
type Action string

// The actions.
const (
	ActJobSubmitted    Action = "job.submitted"
	ActJobLeased       Action = "job.leased"
	ActJobStarted      Action = "job.started"
	ActJobRequeued     Action = "job.requeued"
	ActJobReleased     Action = "job.released"
	ActJobHeld         Action = "job.held"
	ActJobSucceeded    Action = "job.succeeded"
	ActJobFailed       Action = "job.failed"
	ActJobCanceled     Action = "job.canceled"
	ActJobTimedOut     Action = "job.timed_out"
	ActJobRejected     Action = "job.rejected"
	ActCancelRequested Action = "job.cancel_requested"
	ActExecRequested   Action = "job.exec" // a command, a copy, or the end of a hold; never what went in or came out
	ActExecEnded       Action = "job.exec_ended"

	ActPairingStarted  Action = "pairing.started"
	ActPairingApproved Action = "pairing.approved"
	ActPairingDenied   Action = "pairing.denied"
	ActRunnerPaired    Action = "runner.paired"
	ActRunnerRevoked   Action = "runner.revoked"
	ActRunnerPolicy    Action = "runner.policy_changed"

	ActHubBootstrapped  Action = "hub.bootstrapped"
	ActUserCreated      Action = "user.created"
	ActWorkspaceCreated Action = "workspace.created"
	ActMemberAdded      Action = "member.added"
	ActKeyCreated       Action = "key.created"
	ActKeyRevoked       Action = "key.revoked"
)
