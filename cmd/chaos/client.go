package main

import (
	"context"
	"errors"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/agent"
)

// noted is a runner's client that writes down what the hub answers.
type noted struct {
	agent.Client
	ledger *ledger
	skew   time.Duration // of this process's calendar, ahead of the hub's
}

// LeaseJob notes a lease.
func (c *noted) LeaseJob(ctx context.Context, args mcp.LeaseJobArgs) (mcp.LeaseJobResult, error) {
	res, err := c.Client.LeaseJob(ctx, args)
	c.failed(ctx, mcp.ToolLeaseJob, mcp.LeaseProof{}, err)
	c.leased(res.Lease)
	return res, err
}

func (c *noted) leased(l *mcp.Lease) {
	if l == nil {
		return
	}
	bare := *l
	bare.Spec = nil
	c.ledger.note(entry{Did: didLease, Job: l.JobID, Attempt: l.Attempt, Epoch: l.LeaseEpoch, Lease: &bare})
}

// HeartbeatJob notes whether the lease is held, and when that was asked.
func (c *noted) HeartbeatJob(ctx context.Context, args mcp.HeartbeatJobArgs) (mcp.HeartbeatJobResult, error) {
	sent := time.Now().Add(-c.skew).UnixMicro()
	res, err := c.Client.HeartbeatJob(ctx, args)
	c.failed(ctx, mcp.ToolHeartbeatJob, args.LeaseProof, err)
	if err == nil {
		e := of(args.LeaseProof, didBeat, mcp.ToolHeartbeatJob)
		if e.SentUS = sent; res.State == mcp.HeartbeatStale {
			e.Did = didStale
		}
		c.ledger.note(e)
	}
	return res, err
}

// SubmitJobResult notes an accepted report, and the lease that came with the answer.
func (c *noted) SubmitJobResult(ctx context.Context, args mcp.SubmitJobResultArgs) (mcp.ReportResult, error) {
	res, err := c.Client.SubmitJobResult(ctx, args)
	c.settled(ctx, mcp.ToolSubmitJobResult, args.LeaseProof, args.Result.Status, res.Settled(), err)
	if res.Next != nil {
		c.leased(res.Next.Lease)
	}
	return res, err
}

// FailJob notes an accepted report.
func (c *noted) FailJob(ctx context.Context, args mcp.FailJobArgs) (mcp.SettleResult, error) {
	res, err := c.Client.FailJob(ctx, args)
	c.settled(ctx, mcp.ToolFailJob, args.LeaseProof, "failed", res, err)
	return res, err
}

// ReleaseJob notes a lease that was given back.
func (c *noted) ReleaseJob(ctx context.Context, args mcp.ReleaseJobArgs) (mcp.ReleaseJobResult, error) {
	res, err := c.Client.ReleaseJob(ctx, args)
	c.settled(ctx, mcp.ToolReleaseJob, args.LeaseProof, "released", mcp.SettleResult{}, err)
	return res, err
}

// PutLog notes refusals.
func (c *noted) PutLog(ctx context.Context, logURL string, offset int64, chunk []byte) (mcp.PutLogResult, error) {
	res, err := c.Client.PutLog(ctx, logURL, offset, chunk)
	c.failed(ctx, toolPutLog, mcp.LeaseProof{}, err)
	return res, err
}

// toolPutLog names the upload of log bytes, which is no tool.
const toolPutLog = "put_log"

func (c *noted) settled(ctx context.Context, tool string, p mcp.LeaseProof, status string, res mcp.SettleResult, err error) {
	c.failed(ctx, tool, p, err)
	if err == nil {
		e := of(p, didSettle, tool)
		e.Status, e.Duplicate = status, res.Duplicate
		c.ledger.note(e)
	}
}

// failed notes an error of the hub's or of the way there; not that the runner itself gave up.
func (c *noted) failed(ctx context.Context, tool string, p mcp.LeaseProof, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	e := of(p, didRetry, tool)
	switch e.Code = codeOf(err); mcp.Code(e.Code) {
	case mcp.CodeStaleLease, mcp.CodeAlreadySettled:
		e.Did = didStale
	}
	c.ledger.note(e)
}

func of(p mcp.LeaseProof, did, tool string) entry {
	return entry{Did: did, Tool: tool, Job: p.JobID, Attempt: p.Attempt, Epoch: p.LeaseEpoch}
}

func codeOf(err error) string {
	var e *mcp.Error
	if errors.As(err, &e) {
		return string(e.Code)
	}
	return ""
}
