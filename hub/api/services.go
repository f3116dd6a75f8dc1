package api

import (
	"context"
	"io"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/hub/enroll"
)

// Jobs is what the table needs of *dispatch.Service.
type Jobs interface {
	Submit(ctx context.Context, p hub.Principal, r dispatch.SubmitRequest) (dispatch.SubmitResult, error)
	Check(ctx context.Context, p hub.Principal, r dispatch.JobRequest) (dispatch.CheckResult, error)
	Wait(ctx context.Context, p hub.Principal, r dispatch.WaitRequest) (dispatch.WaitResult, error)
	Get(ctx context.Context, p hub.Principal, jobID string) (dispatch.JobView, error)
	List(ctx context.Context, p hub.Principal, r dispatch.ListRequest) (dispatch.ListResult, error)
	Cancel(ctx context.Context, p hub.Principal, jobID, reason string) (dispatch.JobView, error)
	Retry(ctx context.Context, p hub.Principal, r dispatch.RetryRequest) (dispatch.SubmitResult, error)
	SubmitBatch(ctx context.Context, p hub.Principal, r dispatch.BatchRequest) (dispatch.BatchResult, error)
	WaitBatch(ctx context.Context, p hub.Principal, r dispatch.WaitBatchRequest) (dispatch.BatchView, error)
	CancelBatch(ctx context.Context, p hub.Principal, batchID, reason string) (dispatch.BatchView, error)
	Explain(ctx context.Context, p hub.Principal, jobID string) (dispatch.Explanation, error)
	ReadLog(ctx context.Context, p hub.Principal, r dispatch.ReadLogRequest) (dispatch.LogPage, error)
	StartExec(ctx context.Context, p hub.Principal, r dispatch.ExecRequest) (dispatch.ExecPage, error)
	WaitExec(ctx context.Context, p hub.Principal, r dispatch.WaitExecRequest) (dispatch.ExecPage, error)
	StopExec(ctx context.Context, p hub.Principal, jobID, execID string) (dispatch.ExecPage, error)
	StartCopy(ctx context.Context, p hub.Principal, r dispatch.CopyRequest) (dispatch.ExecPage, error)
	ReadFile(ctx context.Context, p hub.Principal, r dispatch.ReadFileRequest) (dispatch.FilePage, error)
	WriteFile(ctx context.Context, p hub.Principal, r dispatch.WriteFileRequest) (created bool, err error)
	EndHold(ctx context.Context, p hub.Principal, jobID string) (dispatch.JobView, error)

	AnnounceSource(ctx context.Context, p hub.Principal, r dispatch.SourceRequest) (dispatch.UploadTicket, error)

	Lease(ctx context.Context, p hub.Principal, r dispatch.LeaseRequest) (dispatch.LeaseResult, error)
	Heartbeat(ctx context.Context, p hub.Principal, r dispatch.HeartbeatRequest) (dispatch.HeartbeatResult, error)
	Settle(ctx context.Context, p hub.Principal, r dispatch.SettleRequest) (dispatch.SettleResult, error)
	Release(ctx context.Context, p hub.Principal, r dispatch.ReleaseRequest) error

	UploadArtifact(ctx context.Context, p hub.Principal, r dispatch.ArtifactRequest) (dispatch.UploadTicket, error)
	ListArtifacts(ctx context.Context, p hub.Principal, r dispatch.ArtifactsRequest) (dispatch.ArtifactsPage, error)
	Artifact(ctx context.Context, p hub.Principal, jobID string, attempt int, file string) (hub.Artifact, error)
	OpenArtifact(ctx context.Context, a hub.Artifact, offset, length int64) (io.ReadCloser, error)

	RunnerRevoked(ctx context.Context, r hub.Runner)
	Fresh(runners ...hub.Runner) []hub.Runner
	HubID(ctx context.Context) (string, error)
	Policy() hub.Policy
	Now() time.Time
}

// Roster is what the table needs of *enroll.Service.
type Roster interface {
	List(ctx context.Context, p hub.Principal, r enroll.ListRequest) ([]enroll.Entry, error)
	Revoke(ctx context.Context, p hub.Principal, workspace, idOrLabel string) (enroll.Entry, error)
	Unpair(ctx context.Context, p hub.Principal) (hub.Runner, error)
	Invite(ctx context.Context, p hub.Principal, workspace, label string, labels []string) (enroll.Invited, error)
	Start(ctx context.Context, r enroll.StartRequest) (enroll.Started, error)
	Redeem(ctx context.Context, r enroll.RedeemRequest) (enroll.Redeemed, error)
	Find(ctx context.Context, p hub.Principal, typed string) (enroll.View, error)
	Decide(ctx context.Context, p hub.Principal, d enroll.Decision) (enroll.View, error)
}

// Accounts is what the table needs of *identity.Service.
type Accounts interface {
	Memberships(ctx context.Context, p hub.Principal) ([]hub.Membership, error)
}

// Services are the use cases that the table calls.
type Services struct {
	Jobs     Jobs
	Roster   Roster
	Accounts Accounts
}

// Operations is the table.
func Operations(s Services) []Operation {
	return []Operation{
		leaseJob(s), heartbeatJob(s), submitJobResult(s), failJob(s), releaseJob(s), uploadArtifact(s), unpairRunner(s),
		submitJob(s), submitJobs(s), waitJobs(s), cancelJobs(s), checkJob(s), waitJob(s), getJob(s), listJobs(s), cancelJob(s), retryJob(s), explainJob(s),
		readJobLog(s), listArtifacts(s), readArtifact(s),
		uploadSource(s),
		execInJob(s), waitExec(s), stopExec(s), readJobFile(s), writeJobFile(s), endHold(s), startCopy(s),
		listRunners(s), pairRunner(s), revokeRunner(s),
		listWorkspaceRunners(s), pairWorkspaceRunner(s), revokeWorkspaceRunner(s),
		whoami(s),
		startPairing(s), redeemPairing(s), viewPairing(s), decidePairing(s),
	}
}

func ms(d time.Duration) int64 { return max(0, d.Milliseconds()) }

func duration(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
