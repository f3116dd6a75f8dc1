package dispatch

import (
	"context"

	"github.com/runnerhub/runnerhub/hub"
)

// Run sweeps, listens to other hubs, notifies them and writes presence until ctx
// ends; it returns nil then, after all its goroutines have ended.
func (s *Service) Run(ctx context.Context) error { panic("todo") }

// Submit stores a job. Errors: InvalidArgument (details "problems"), TooLarge,
// NotFound (target, workspace), Conflict (idempotency key), QueueFull.
func (s *Service) Submit(ctx context.Context, p hub.Principal, r SubmitRequest) (SubmitResult, error) {
	panic("todo")
}

// Check does what Submit would and stores nothing. A faulty spec is a result and no error.
func (s *Service) Check(ctx context.Context, p hub.Principal, r JobRequest) (CheckResult, error) {
	panic("todo")
}

// Wait answers what happened to a job since a cursor, holding the call until something does.
func (s *Service) Wait(ctx context.Context, p hub.Principal, r WaitRequest) (WaitResult, error) {
	panic("todo")
}

// Get returns the whole job.
func (s *Service) Get(ctx context.Context, p hub.Principal, jobID string) (JobView, error) {
	panic("todo")
}

// List pages the jobs that the caller may see.
func (s *Service) List(ctx context.Context, p hub.Principal, r ListRequest) (ListResult, error) {
	panic("todo")
}

// Cancel ends a queued job, or asks the runner of a live one to stop it. Twice changes nothing.
// AlreadySettled when the job has ended otherwise.
func (s *Service) Cancel(ctx context.Context, p hub.Principal, jobID, reason string) (JobView, error) {
	panic("todo")
}

// Retry submits an ended job's spec again, as a new job linked to it. Conflict while it has not ended.
func (s *Service) Retry(ctx context.Context, p hub.Principal, r RetryRequest) (SubmitResult, error) {
	panic("todo")
}

// Explain says why a job is not running, or how it ended.
func (s *Service) Explain(ctx context.Context, p hub.Principal, jobID string) (Explanation, error) {
	panic("todo")
}

// ReadLog reads a part of a job's log.
func (s *Service) ReadLog(ctx context.Context, p hub.Principal, r ReadLogRequest) (LogPage, error) {
	panic("todo")
}

// Lease hands the runner p a job, holding the call while there is none. An old protocol, a drain or an
// unpaired runner is told by a directive.
func (s *Service) Lease(ctx context.Context, p hub.Principal, r LeaseRequest) (LeaseResult, error) {
	panic("todo")
}

// Heartbeat renews a lease and holds the call until there is a directive. A lease that is no longer
// the job's is the state stale and no error.
func (s *Service) Heartbeat(ctx context.Context, p hub.Principal, r HeartbeatRequest) (HeartbeatResult, error) {
	panic("todo")
}

// Settle ends an attempt by its runner's report; the first report wins. Errors: StaleLease,
// AlreadySettled, InvalidArgument, TooLarge.
func (s *Service) Settle(ctx context.Context, p hub.Principal, r SettleRequest) (SettleResult, error) {
	panic("todo")
}

// Release gives a lease back. A repeat is accepted.
func (s *Service) Release(ctx context.Context, p hub.Principal, r ReleaseRequest) error {
	panic("todo")
}

// AppendLog adds bytes to the log whose capability has the digest, and returns the offset to go on from.
// A gap, and other bytes than the stored ones, are a Conflict whose details carry next_offset.
func (s *Service) AppendLog(ctx context.Context, capDigest []byte, offset int64, data []byte) (next int64, err error) {
	panic("todo")
}

// RunnerRevoked tells that a runner was just unpaired on this hub: its held calls end and its attempts
// are lost now instead of at the next sweep.
func (s *Service) RunnerRevoked(ctx context.Context, r hub.Runner) { panic("todo") }

// Fresh returns runners with what this hub heard of them more recently than was stored.
func (s *Service) Fresh(runners ...hub.Runner) []hub.Runner { panic("todo") }
