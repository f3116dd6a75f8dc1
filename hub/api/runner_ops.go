package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/mcp"
)

var proofLimits = limits{
	"job_id": idLimit, "attempt": atLeast(1), "lease_epoch": atLeast(1), "lease_token": text(128),
}

var leaseLimits = limits{
	"request_id": text(64), "wait_ms": waitLimit, "capabilities": items(64, 64), "os": upTo(32), "arch": upTo(32),
	"version": upTo(64), "protocol": atLeast(0), "free_slots": between(0, 1000), "slots": between(0, 1000),
	"status.text": upTo(200), "status.level": oneOf("ok", "warning", "error"),
}

func proofOf(p mcp.LeaseProof) hub.Proof {
	return hub.Proof{Attempt: p.Attempt, Epoch: p.LeaseEpoch, Nonce: p.LeaseToken}
}

func leaseJob(s Services) Operation {
	return define(Operation{
		Name: mcp.ToolLeaseJob, Title: "Lease a job", Audience: Runner,
		Description: "Ask for work, once for each free slot. Holds the call up to wait_ms while there is none and then answers without a lease; " +
			"call again at once. Choose a fresh request_id for each new lease and repeat it when an answer was lost: the same id gets the same lease. " +
			"Acknowledge a lease with heartbeat_job within first_heartbeat_ms or it is taken back. " +
			"Directives tell to update, to drain, or that the machine was unpaired.",
		Hints:  Hints{Idempotent: true},
		Route:  Route{Method: http.MethodPost, Path: "/lease"},
		limits: leaseLimits,
	}, func(ctx context.Context, p hub.Principal, in mcp.LeaseJobArgs) (mcp.LeaseJobResult, error) {
		return lease(ctx, s, p, in, false)
	}, func(out mcp.LeaseJobResult) string {
		switch {
		case out.Lease != nil:
			return leasedLine(*out.Lease)
		case len(out.Directives) > 0:
			return fmt.Sprintf("No lease; directives: %v.", out.Directives)
		default:
			return "No work yet. Call lease_job again."
		}
	})
}

func leasedLine(l mcp.Lease) string {
	return fmt.Sprintf("Leased %s, attempt %d. Acknowledge it with heartbeat_job.", l.JobID, l.Attempt)
}

func lease(ctx context.Context, s Services, p hub.Principal, in mcp.LeaseJobArgs, fresh bool) (mcp.LeaseJobResult, error) {
	presence := hub.Presence{
		OS: in.OS, Arch: in.Arch, Version: in.Version, Protocol: in.Protocol, Capabilities: in.Capabilities,
		Slots: in.Slots, FreeSlots: in.FreeSlots, Draining: in.Draining || in.Leaving,
	}
	if in.Status != nil {
		presence.StatusText, presence.StatusLevel = in.Status.Text, in.Status.Level
	}
	got, err := s.Jobs.Lease(ctx, p, dispatch.LeaseRequest{RequestID: in.RequestID, Wait: duration(in.WaitMS), Presence: presence, Leaving: in.Leaving, Fresh: fresh, Policy: in.Policy})
	if err != nil {
		return mcp.LeaseJobResult{}, err
	}
	return leaseResultView(baseURL(ctx), got), nil
}

func heartbeatJob(s Services) Operation {
	return define(Operation{
		Name: mcp.ToolHeartbeatJob, Title: "Renew a lease", Audience: Runner,
		Description: "Keep a leased job and say what it is busy with, every heartbeat_ms. With wait_ms the call is held until there is a directive, " +
			"so that a cancel arrives at once. State held: go on; requests are what callers ask of its containers. State cancel: stop the job within grace_ms and report it with submit_job_result. " +
			"State stale: the lease is lost; kill the containers at once and report nothing.",
		Hints: Hints{Idempotent: true},
		Route: Route{Method: http.MethodPost, Path: "/jobs/{job_id}/heartbeat"},
		limits: proofLimits.with(limits{
			"phase":        oneOf("preparing", "pulling", "starting_services", "running", "collecting", "held"),
			"held.left_ms": atLeast(0), "held.status": oneOf("failed", "timed_out"), "held.exit_code": between(-1<<31, 1<<32-1),
			"held.failure.class": failureClasses, "held.failure.message": text(8 << 10), "held.failure.hint": upTo(2 << 10), "held.failure.container": upTo(256),
			"step": upTo(256), "progress": upTo(200), "wait_ms": waitLimit, "idle_left_ms": atLeast(0),
		}),
	}, func(ctx context.Context, p hub.Principal, in mcp.HeartbeatJobArgs) (mcp.HeartbeatJobResult, error) {
		r := dispatch.HeartbeatRequest{
			JobID: in.JobID, Proof: proofOf(in.LeaseProof), Phase: in.Phase, Step: in.Step, Progress: in.Progress, Wait: duration(in.WaitMS),
			IdleLeft: duration(in.IdleLeftMS),
		}
		if h := in.Held; h != nil {
			r.Held = &hub.HoldReport{Left: duration(h.LeftMS), State: hub.JobState(h.Status), ExitCode: h.ExitCode, Failure: *failureOf(&h.Failure)}
		}
		got, err := s.Jobs.Heartbeat(ctx, p, r)
		if err != nil {
			return mcp.HeartbeatJobResult{}, err
		}
		return mcp.HeartbeatJobResult{
			State: string(got.State), Reason: got.Reason, GraceMS: ms(got.Grace), TTLMS: ms(got.TTL), DeadlineMS: ms(got.Deadline),
			Requests: ordersView(got.Orders),
		}, nil
	}, func(out mcp.HeartbeatJobResult) string {
		switch out.State {
		case mcp.HeartbeatCancel:
			return "Cancel: " + out.Reason + ". Stop the job and report it with submit_job_result."
		case mcp.HeartbeatStale:
			return "Stale: the lease is lost. Kill the containers at once."
		default:
			if n := len(out.Requests); n > 0 {
				return "Held; " + plural(n, "request") + " to begin or to stop."
			}
			return "Held."
		}
	})
}

var failureClasses = oneOf(
	string(hub.ClassScript), string(hub.ClassOOM), string(hub.ClassTimeout), string(hub.ClassImagePull),
	string(hub.ClassServiceUnhealthy), string(hub.ClassSource), string(hub.ClassArtifact), string(hub.ClassSpecInvalid),
	string(hub.ClassCapabilityMissing), string(hub.ClassNoRunner), string(hub.ClassRunnerLost),
	string(hub.ClassDockerUnavailable), string(hub.ClassDiskFull), string(hub.ClassPolicyDenied),
	string(hub.ClassCanceled), string(hub.ClassInternal),
)

func submitJobResult(s Services) Operation {
	return define(Operation{
		Name: mcp.ToolSubmitJobResult, Title: "Report a result", Audience: Runner,
		Description: "Report what an attempt came to, whether or not it succeeded, once its containers are gone. The first report wins; " +
			"the same report again is accepted as a duplicate, so repeat it until it is answered. " +
			"A failure belongs to every status but succeeded. For a job that could not be run at all use fail_job. " +
			"With next_lease the answer also brings what lease_job would have; its wait_ms holds the answer, and so the word that the report was taken.",
		Hints: Hints{Idempotent: true},
		Route: Route{Method: http.MethodPost, Path: "/jobs/{job_id}/result", MaxBody: 1 << 20},
		limits: proofLimits.with(leaseLimits.under("next_lease")).with(limits{
			"result.status": oneOf("succeeded", "failed", "canceled", "timed_out"),
			"result.signal": upTo(32), "result.note": upTo(200),
			"result.failure.class": failureClasses, "result.failure.message": text(8 << 10), "result.failure.hint": upTo(2 << 10),
			"result.failure.container": upTo(256),
			"result.steps":             items(1000, 0), "result.steps[].name": upTo(256), "result.steps[].signal": upTo(32),
			"result.steps[].status": oneOf("succeeded", "failed", "canceled", "timed_out", "skipped"),
			"result.artifacts":      items(mcp.MaxResultArtifacts, 0), "result.artifacts[].name": upTo(512), "result.artifacts[].path": upTo(1024),
			"result.artifacts[].sha256": upTo(64), "result.artifacts[].size": atLeast(0), "result.artifacts_more": atLeast(0),
			"result.caches": items(mcp.MaxResultCaches, 0), "result.caches[].key": upTo(256), "result.caches[].restored_key": upTo(256),
			"result.caches[].hit": oneOf("exact", "prefix", "none"), "result.caches[].restored_bytes": atLeast(0), "result.caches[].saved_bytes": atLeast(0),
			"result.tests.failing": items(50, 256), "result.tests.passed": atLeast(0), "result.tests.failed": atLeast(0),
			"result.tests.skipped": atLeast(0), "result.tests.unread": atLeast(0),
			"result.exit_code": between(-1<<31, 1<<32-1), "result.log_bytes": atLeast(0), // Windows has 32-bit exit codes
			"result.usage.cpu_ms": atLeast(0), "result.usage.memory_peak_bytes": atLeast(0), "result.usage.wall_ms": atLeast(0),
			"result.usage.disk_peak_bytes": atLeast(0), "result.usage.pulled_bytes": atLeast(0),
			"result.leaks.containers": atLeast(0), "result.leaks.networks": atLeast(0), "result.leaks.volumes": atLeast(0),
		}),
	}, func(ctx context.Context, p hub.Principal, in mcp.SubmitJobResultArgs) (mcp.ReportResult, error) {
		if code := in.Result.ExitCode; in.Result.Status == "succeeded" && code != nil && *code != 0 {
			return mcp.ReportResult{}, hub.Errorf(hub.InvalidArgument, "a job that exited with code %d did not succeed", *code).
				WithHint("report it as failed, with a failure of class script")
		}
		result, err := json.Marshal(in.Result)
		if err != nil {
			return mcp.ReportResult{}, err
		}
		settled, err := settle(ctx, s, p, dispatch.SettleRequest{
			JobID: in.JobID, Proof: proofOf(in.LeaseProof), State: hub.JobState(in.Result.Status),
			Failure: failureOf(in.Result.Failure), Outputs: in.Result.Outputs, Note: in.Result.Note, Result: result,
		})
		out := mcp.ReportResult{Accepted: settled.Accepted, Duplicate: settled.Duplicate, Requeued: settled.Requeued}
		if err == nil && in.NextLease != nil {
			// A report that is taken for the first time asks for the first time. It was taken, and its answer must not fail for
			// another reason.
			if next, err := lease(ctx, s, p, *in.NextLease, !settled.Duplicate); err == nil {
				out.Next = &next
			}
		}
		return out, err
	}, func(out mcp.ReportResult) string {
		line := settledLine(out.Settled())
		if out.Next != nil && out.Next.Lease != nil {
			line += " " + leasedLine(*out.Next.Lease)
		}
		return line
	})
}

func failJob(s Services) Operation {
	return define(Operation{
		Name: mcp.ToolFailJob, Title: "Report a job that cannot be run", Audience: Runner,
		Description: "Report that an attempt could not be run at all: its spec cannot be parsed, the engine is unreachable, the disk is full. " +
			"An infrastructure class queues the job again while attempts remain. A job that ran and failed is reported with submit_job_result.",
		Hints:  Hints{Idempotent: true},
		Route:  Route{Method: http.MethodPost, Path: "/jobs/{job_id}/fail"},
		limits: proofLimits.with(limits{"class": failureClasses, "message": text(8 << 10), "hint": upTo(2 << 10)}),
	}, func(ctx context.Context, p hub.Principal, in mcp.FailJobArgs) (mcp.SettleResult, error) {
		return settle(ctx, s, p, dispatch.SettleRequest{
			JobID: in.JobID, Proof: proofOf(in.LeaseProof), State: hub.JobFailed,
			Failure: &hub.Failure{Class: hub.Class(in.Class), Message: in.Message, Hint: in.Hint},
		})
	}, settledLine)
}

func settle(ctx context.Context, s Services, p hub.Principal, r dispatch.SettleRequest) (mcp.SettleResult, error) {
	got, err := s.Jobs.Settle(ctx, p, r)
	return mcp.SettleResult{Accepted: got.Accepted, Duplicate: got.Duplicate, Requeued: got.Requeued}, err
}

func settledLine(out mcp.SettleResult) string {
	switch {
	case out.Duplicate:
		return "Accepted before."
	case out.Requeued:
		return "Accepted; the job will run again."
	default:
		return "Accepted."
	}
}

func releaseJob(s Services) Operation {
	return define(Operation{
		Name: mcp.ToolReleaseJob, Title: "Give a lease back", Audience: Runner,
		Description: "Give a leased job back, unfinished, when the runner drains or its machine goes to sleep. It costs the job no attempt; " +
			"another runner, or this one later, takes it. Remove its containers first.",
		Hints:  Hints{Idempotent: true},
		Route:  Route{Method: http.MethodPost, Path: "/jobs/{job_id}/release"},
		limits: proofLimits.with(limits{"reason": upTo(200)}),
	}, func(ctx context.Context, p hub.Principal, in mcp.ReleaseJobArgs) (mcp.ReleaseJobResult, error) {
		err := s.Jobs.Release(ctx, p, dispatch.ReleaseRequest{JobID: in.JobID, Proof: proofOf(in.LeaseProof), Reason: in.Reason})
		return mcp.ReleaseJobResult{Released: err == nil}, err
	}, func(mcp.ReleaseJobResult) string { return "Released." })
}

func unpairRunner(s Services) Operation {
	return define(Operation{
		Name: mcp.ToolUnpairRunner, Title: "Unpair this machine", Audience: Runner,
		Description: "End the calling runner's own pairing. Its token is dead from here on, and what it runs is lost or runs elsewhere: drain first.",
		Hints:       Hints{Destructive: true},
		Route:       Route{Method: http.MethodDelete, Path: "/runners/self"},
	}, func(ctx context.Context, p hub.Principal, _ none) (mcp.UnpairRunnerResult, error) {
		r, err := s.Roster.Unpair(ctx, p)
		if err != nil {
			return mcp.UnpairRunnerResult{}, err
		}
		s.Jobs.RunnerRevoked(ctx, r)
		return mcp.UnpairRunnerResult{Runner: runnerView(r, "", hub.RunnerRevoked, 0)}, nil
	}, func(out mcp.UnpairRunnerResult) string { return unpairedLine(out.Runner) })
}
