package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/joblog"
)

const quickSpec = `{"image":"example/app"}`

// fakeHub is a hub in memory that keeps the promises of the wire contract as far
// as a runner sees them. It is an agent.Client; hubserver_test.go puts it behind HTTP.
type fakeHub struct {
	// Before, where set, is called with each call; its error is the answer and the call has no effect.
	Before func(ctx context.Context, tool string, args any) error
	// After, where set, is called when the call has had its effect; an error loses the answer.
	After func(tool string, args any) error
	// Lease, where set, changes leases as they are given out.
	Lease func(*mcp.Lease)

	mu         sync.Mutex
	changed    chan struct{}
	queue      []string
	jobs       map[string]*fakeJob
	leases     map[string]*mcp.Lease // by request id
	directives []string
	polls      []mcp.LeaseJobArgs
	beats      []mcp.HeartbeatJobArgs
	down       bool
}

type fakeJob struct {
	ID       string
	Spec     string
	Attempt  int
	Lease    *mcp.Lease // nil: nobody's
	Acked    bool
	Cancel   string // reason
	Results  []mcp.Result
	Fails    []mcp.FailJobArgs
	Releases []string
	Logs     map[int]*bytes.Buffer // by attempt
	Files    map[string]string     // what the attempts left, by path
	Repeats  int                   // reports that were there already
}

func newHub() *fakeHub {
	return &fakeHub{changed: make(chan struct{}), jobs: map[string]*fakeJob{}, leases: map[string]*mcp.Lease{}}
}

func (h *fakeHub) signal() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// Submit queues a job.
func (h *fakeHub) Submit(id, spec string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.jobs[id] = &fakeJob{ID: id, Spec: spec, Logs: map[int]*bytes.Buffer{}}
	h.queue = append(h.queue, id)
	h.signal()
}

// do changes the hub under its lock and wakes who waits.
func (h *fakeHub) do(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
	h.signal()
}

// Polls returns the calls of lease_job so far.
func (h *fakeHub) Polls() []mcp.LeaseJobArgs {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.polls)
}

// Job returns a copy of a job's state.
func (h *fakeHub) Job(id string) fakeJob {
	h.mu.Lock()
	defer h.mu.Unlock()
	j := *h.jobs[id]
	j.Results = slices.Clone(j.Results)
	return j
}

// Log is what attempt n of a job wrote to one stream of the job container.
func (h *fakeHub) Log(id string, n int) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []byte
	b := h.jobs[id].Logs[n]
	if b == nil {
		return nil
	}
	for line := range bytes.Lines(b.Bytes()) {
		r, ok := joblog.ParseLine(bytes.TrimSuffix(line, []byte{'\n'}))
		if !ok {
			panic(fmt.Sprintf("no record: %.200q", line))
		}
		if r.Stream == joblog.System {
			continue
		}
		out = append(out, r.Payload...)
		if !r.Partial {
			out = append(out, '\n')
		}
	}
	return out
}

// await returns once ok holds.
func (h *fakeHub) await(ctx context.Context, ok func() bool) error {
	for {
		h.mu.Lock()
		changed, done := h.changed, ok()
		h.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Settled waits until a job has a report.
func (h *fakeHub) Settled(ctx context.Context, id string) error {
	return h.await(ctx, func() bool { j := h.jobs[id]; return len(j.Results)+len(j.Fails) > 0 })
}

func unavailable(why string) error {
	return &mcp.Error{Code: mcp.CodeUnavailable, Message: why, Retryable: true}
}

func (h *fakeHub) enter(ctx context.Context, tool string, args any) error {
	if h.Before != nil {
		if err := h.Before(ctx, tool, args); err != nil {
			return err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.down {
		return unavailable("connection refused")
	}
	return ctx.Err()
}

func (h *fakeHub) leave(tool string, args any) error {
	if h.After != nil {
		return h.After(tool, args)
	}
	return nil
}

// LeaseJob implements agent.Client.
func (h *fakeHub) LeaseJob(ctx context.Context, args mcp.LeaseJobArgs) (mcp.LeaseJobResult, error) {
	if err := h.enter(ctx, mcp.ToolLeaseJob, args); err != nil {
		return mcp.LeaseJobResult{}, err
	}
	timer := time.NewTimer(time.Duration(args.WaitMS) * time.Millisecond)
	defer timer.Stop()
	h.mu.Lock()
	h.polls = append(h.polls, args)
	h.signal()
	h.mu.Unlock()
	for {
		h.mu.Lock()
		res := mcp.LeaseJobResult{HubID: "hub-1", ServerVersion: "test", Directives: slices.Clone(h.directives)}
		changed := h.changed
		if h.down {
			h.mu.Unlock()
			return res, unavailable("connection reset")
		}
		if l := h.leases[args.RequestID]; l != nil && h.jobs[l.JobID].Lease == l {
			res.Lease = l
		} else if !args.Draining && len(h.queue) > 0 && ctx.Err() == nil {
			res.Lease = h.grant(args.RequestID)
		}
		h.mu.Unlock()
		if res.Lease != nil || len(res.Directives) > 0 || args.Draining {
			return res, h.leave(mcp.ToolLeaseJob, args)
		}
		select {
		case <-changed:
		case <-timer.C:
			return res, nil
		case <-ctx.Done():
			return res, ctx.Err()
		}
	}
}

func (h *fakeHub) grant(request string) *mcp.Lease {
	j := h.jobs[h.queue[0]]
	h.queue = h.queue[1:]
	j.Attempt++
	j.Lease = &mcp.Lease{
		JobID: j.ID, Attempt: j.Attempt, LeaseEpoch: int64(j.Attempt), LeaseToken: "secret-nonce-" + j.ID,
		TTLMS: 60_000, HeartbeatMS: 15_000, FirstHeartbeatMS: 15_000, DeadlineMS: 3_600_000, TimeoutMS: 3_000_000,
		LogLimitBytes: 64 << 20, Spec: json.RawMessage(j.Spec), LogURL: fmt.Sprintf("/log/%s/%d", j.ID, j.Attempt),
	}
	j.Acked = false
	if h.Lease != nil {
		h.Lease(j.Lease)
	}
	h.leases[request] = j.Lease
	return j.Lease
}

// owned finds the job of a proof. Callers hold the lock.
func (h *fakeHub) owned(p mcp.LeaseProof) (*fakeJob, error) {
	j := h.jobs[p.JobID]
	if j == nil || j.Lease == nil || j.Lease.LeaseEpoch != p.LeaseEpoch || j.Lease.LeaseToken != p.LeaseToken || j.Attempt != p.Attempt {
		return j, &mcp.Error{Code: mcp.CodeStaleLease, Message: "this lease is not the job's current one"}
	}
	return j, nil
}

// HeartbeatJob implements agent.Client.
func (h *fakeHub) HeartbeatJob(ctx context.Context, args mcp.HeartbeatJobArgs) (mcp.HeartbeatJobResult, error) {
	if err := h.enter(ctx, mcp.ToolHeartbeatJob, args); err != nil {
		return mcp.HeartbeatJobResult{}, err
	}
	timer := time.NewTimer(time.Duration(args.WaitMS) * time.Millisecond)
	defer timer.Stop()
	h.do(func() { h.beats = append(h.beats, args) })
	for {
		h.mu.Lock()
		changed, down := h.changed, h.down
		j, err := h.owned(args.LeaseProof)
		res := mcp.HeartbeatJobResult{State: mcp.HeartbeatHeld, TTLMS: 60_000}
		switch {
		case err != nil:
			res.State = mcp.HeartbeatStale
		case j.Cancel != "":
			j.Acked = true
			res.State, res.Reason, res.GraceMS = mcp.HeartbeatCancel, j.Cancel, 3000
		default:
			j.Acked = true
		}
		h.mu.Unlock()
		if down {
			return res, unavailable("connection reset")
		}
		if res.State != mcp.HeartbeatHeld || args.WaitMS == 0 {
			return res, h.leave(mcp.ToolHeartbeatJob, args)
		}
		select {
		case <-changed:
		case <-timer.C:
			return res, nil
		case <-ctx.Done():
			return res, ctx.Err()
		}
	}
}

// SubmitJobResult implements agent.Client.
func (h *fakeHub) SubmitJobResult(ctx context.Context, args mcp.SubmitJobResultArgs) (mcp.ReportResult, error) {
	res, err := h.settle(ctx, mcp.ToolSubmitJobResult, args, args.LeaseProof, func(j *fakeJob) bool {
		if len(j.Results) > 0 {
			a, _ := json.Marshal(j.Results[0])
			b, _ := json.Marshal(args.Result)
			return bytes.Equal(a, b)
		}
		j.Results = append(j.Results, args.Result)
		return false
	})
	return mcp.ReportResult{Accepted: res.Accepted, Duplicate: res.Duplicate}, err
}

// FailJob implements agent.Client.
func (h *fakeHub) FailJob(ctx context.Context, args mcp.FailJobArgs) (mcp.SettleResult, error) {
	return h.settle(ctx, mcp.ToolFailJob, args, args.LeaseProof, func(j *fakeJob) bool {
		if len(j.Fails) > 0 {
			return j.Fails[0] == args
		}
		j.Fails = append(j.Fails, args)
		return false
	})
}

func (h *fakeHub) settle(ctx context.Context, tool string, args any, p mcp.LeaseProof, report func(*fakeJob) bool) (mcp.SettleResult, error) {
	if err := h.enter(ctx, tool, args); err != nil {
		return mcp.SettleResult{}, err
	}
	h.mu.Lock()
	j := h.jobs[p.JobID]
	if len(j.Results)+len(j.Fails) > 0 {
		defer h.mu.Unlock()
		if report(j) {
			j.Repeats++
			return mcp.SettleResult{Accepted: true, Duplicate: true}, nil
		}
		return mcp.SettleResult{}, &mcp.Error{Code: mcp.CodeAlreadySettled, Message: "the job has ended already"}
	}
	if _, err := h.owned(p); err != nil {
		h.mu.Unlock()
		return mcp.SettleResult{}, err
	}
	report(j)
	j.Lease = nil
	h.signal()
	h.mu.Unlock()
	return mcp.SettleResult{Accepted: true}, h.leave(tool, args)
}

// ReleaseJob implements agent.Client.
func (h *fakeHub) ReleaseJob(ctx context.Context, args mcp.ReleaseJobArgs) (mcp.ReleaseJobResult, error) {
	if err := h.enter(ctx, mcp.ToolReleaseJob, args); err != nil {
		return mcp.ReleaseJobResult{}, err
	}
	h.mu.Lock()
	j, err := h.owned(args.LeaseProof)
	if err == nil {
		j.Lease = nil
		j.Releases = append(j.Releases, args.Reason)
		h.queue = append(h.queue, j.ID)
		h.signal()
	}
	h.mu.Unlock()
	if err != nil {
		return mcp.ReleaseJobResult{}, err
	}
	return mcp.ReleaseJobResult{Released: true}, h.leave(mcp.ToolReleaseJob, args)
}
