package api

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/hub/enroll"
	"github.com/runnerhub/runnerhub/mcp"
)

// This file maps the domain to the wire contract. Lists are never nil: [] and
// null are different things to a client that validates.

func jobView(now time.Time, v dispatch.JobView) (mcp.Job, error) {
	j := v.Job
	out := mcp.Job{
		ID: j.ID, Name: v.Payload.Name, State: string(j.State), Owner: string(j.Owner), Workspace: v.Workspace, Target: v.Target,
		Priority: j.Priority, Group: j.Group, SubmittedBy: v.Payload.SubmittedBy, Attempt: j.Attempt,
		RunnerID: v.RunnerID, RunnerLabel: v.RunnerLabel, Phase: j.Phase, Step: j.Step, Progress: j.Progress,
		Canceling: canceling(j),
		Failure:   failureView(j.Failure), RetryOf: v.Payload.RetryOf, BatchID: v.Payload.BatchID,
		CreatedAt: j.CreatedAt, StartedAt: optional(j.StartedAt), FinishedAt: optional(j.EndedAt), LogBytes: v.LogSize,
	}
	out.Held = heldView(now, j.Held)
	if !j.StartedAt.IsZero() && !j.EndedAt.IsZero() {
		out.DurationMS = ms(j.EndedAt.Sub(j.StartedAt))
	}
	for _, a := range v.Attempts {
		out.Attempts = append(out.Attempts, attemptView(a))
	}
	var err error
	out.Result, err = resultView(v.Result)
	return out, err
}

func attemptView(a hub.Attempt) mcp.Attempt {
	return mcp.Attempt{
		Number: a.Number, State: string(a.State), RunnerID: a.RunnerID, LeasedAt: a.LeasedAt,
		StartedAt: optional(a.StartedAt), FinishedAt: optional(a.EndedAt), Failure: failureView(a.Failure),
	}
}

// resultView reads a stored report, which a hub of any version may have written.
func resultView(stored []byte) (*mcp.Result, error) {
	if len(stored) == 0 {
		return nil, nil
	}
	var r mcp.Result
	if err := json.Unmarshal(stored, &r); err != nil {
		return nil, fmt.Errorf("stored result: %w", err)
	}
	return &r, nil
}

func heldView(now time.Time, h *hub.Held) *mcp.Held {
	if h == nil {
		return nil
	}
	return &mcp.Held{Until: h.Until, LeftMS: ms(h.Until.Sub(now)), Status: string(h.State), ExitCode: h.ExitCode}
}

func failureView(f *hub.Failure) *mcp.Failure {
	if f == nil {
		return nil
	}
	return &mcp.Failure{Class: string(f.Class), Message: f.Message, Hint: f.Hint, Container: f.Container}
}

func submitResultView(now time.Time, r dispatch.SubmitResult) (mcp.SubmitJobResult, error) {
	job, err := jobView(now, r.Job)
	out := mcp.SubmitJobResult{Job: job, Existing: r.Existing}
	out.Notices = noticesView(r.Notices)
	return out, err
}

func checkResultView(r dispatch.CheckResult) mcp.CheckJobResult {
	out := mcp.CheckJobResult{
		Valid: r.Valid, Problems: make([]mcp.SpecProblem, len(r.Problems)), Runners: runnersView(r.Runners), Summary: r.Summary,
		Reasons: reasonsView(r.Reasons), Next: r.Next,
	}
	for i, p := range r.Problems {
		out.Problems[i] = mcp.SpecProblem(p)
	}
	return out
}

func runnersView(runners []dispatch.RunnerReason) []mcp.RunnerReason {
	out := make([]mcp.RunnerReason, len(runners))
	for i, r := range runners {
		out[i] = mcp.RunnerReason{RunnerID: r.RunnerID, Label: r.Label, Eligible: r.Eligible, Reasons: reasonsView(r.Reasons)}
	}
	return out
}

func reasonsView(reasons []hub.Reason) []mcp.Reason {
	out := make([]mcp.Reason, len(reasons))
	for i, r := range reasons {
		out[i] = mcp.Reason{Code: string(r.Code), Message: r.Message}
	}
	return out
}

func waitResultView(now time.Time, r dispatch.WaitResult) (mcp.WaitJobResult, error) {
	out := mcp.WaitJobResult{
		JobID: r.Job.ID, State: string(r.Job.State), Phase: r.Job.Phase, Step: r.Job.Step, Done: r.Done,
		Held:    heldView(now, r.Job.Held),
		Failure: failureView(r.Job.Failure), Telling: tellingView(r.Telling), Lines: linesView(r.Lines), Omitted: r.Omitted, NextCursor: r.NextCursor,
	}
	result, err := resultView(r.Result)
	switch {
	case result != nil:
		out.ExitCode = result.ExitCode
		if out.Done {
			out.Tests = shortTests(result.Tests)
		}
	case r.Job.Held != nil:
		out.ExitCode = r.Job.Held.ExitCode
	}
	return out, err
}

func linesView(lines []dispatch.LogLine) []mcp.LogLine {
	out := make([]mcp.LogLine, len(lines))
	for i, l := range lines {
		out[i] = mcp.LogLine{
			Time: l.Time, Stream: l.Stream, Step: l.Step, Service: l.Service, Text: string(l.Text), Partial: l.Partial, Repeats: l.Repeats,
		}
		if !utf8.Valid(l.Text) {
			out[i].Text = strings.ToValidUTF8(string(l.Text), "\uFFFD")
			out[i].Base64 = base64.StdEncoding.EncodeToString(l.Text)
		}
	}
	return out
}

// tellingView is nil where nothing tells, so that the field is left out.
func tellingView(lines []dispatch.LogLine) []mcp.LogLine {
	if len(lines) == 0 {
		return nil
	}
	return linesView(lines)
}

func explanationView(e dispatch.Explanation) (mcp.ExplainJobResult, error) {
	out := mcp.ExplainJobResult{
		JobID: e.Job.ID, State: string(e.Job.State), Summary: e.Summary, Position: e.Position, Runners: runnersView(e.Runners),
		Reasons: reasonsView(e.Reasons),
		Failure: failureView(e.Failure), Next: append([]string{}, e.Next...), Timeline: make([]mcp.TimelineItem, len(e.Timeline)),
		LogTail: linesView(e.LogTail), Telling: tellingView(e.Telling),
	}
	for i, t := range e.Timeline {
		out.Timeline[i] = mcp.TimelineItem{Time: t.Time, Action: string(t.Action), Actor: t.Actor, Message: t.Message}
	}
	r, err := resultView(e.Result)
	if err != nil || r == nil {
		return out, err
	}
	out.Tests, out.Outputs = r.Tests, r.Outputs
	if r.Tests != nil {
		out.Summary += " " + testsLine(*r.Tests)
	}
	if r.Changes != nil {
		out.Summary += " " + changesLine(*r.Changes)
	}
	return out, nil
}

// changesLine is what a job has changed of its source in a sentence.
func changesLine(c mcp.Changes) string {
	if c.Added+c.Modified+c.Deleted == 0 {
		return "It changed no file of its source that can be in a patch."
	}
	line := fmt.Sprintf("Its changes (%d new, %d modified, %d deleted) are the artifact patch", c.Added, c.Modified, c.Deleted)
	if c.LeftOut > 0 {
		line += fmt.Sprintf(", but for %s that could not be in it", plural(c.LeftOut, "file"))
	}
	return line + "."
}

func leaseResultView(base string, r dispatch.LeaseResult) mcp.LeaseJobResult {
	out := mcp.LeaseJobResult{Directives: make([]string, len(r.Directives)), ServerVersion: mcp.Version, HubID: r.HubID}
	for i, d := range r.Directives {
		out.Directives[i] = string(d)
	}
	if l := r.Lease; l != nil {
		out.Lease = &mcp.Lease{
			JobID: l.JobID, Attempt: l.Proof.Attempt, LeaseEpoch: l.Proof.Epoch, LeaseToken: l.Proof.Nonce,
			TTLMS: ms(l.TTL), HeartbeatMS: ms(l.Heartbeat), FirstHeartbeatMS: ms(l.FirstHeartbeat), DeadlineMS: ms(l.Deadline),
			TimeoutMS: ms(l.Timeout), LogLimitBytes: l.LogLimit, ArtifactLimitFiles: l.MaxArtifacts, ArtifactLimitBytes: l.ArtifactBytes, Spec: l.Spec, LogURL: base + LogPath(l.LogToken),
			Owner: string(l.Owner), CacheOwner: l.CacheOwner,
		}
		if l.SourceToken != "" {
			out.Lease.Source = &mcp.LeaseSource{URL: base + SourcePath(l.JobID, l.Proof.Attempt, l.SourceToken)}
		}
	}
	return out
}

// rosterView shows runners with what this hub heard of them more recently than was stored.
func rosterView(s Services, entries []enroll.Entry) []mcp.Runner {
	runners := make([]hub.Runner, len(entries))
	for i, e := range entries {
		runners[i] = e.Runner
	}
	now, policy := s.Jobs.Now(), s.Jobs.Policy()
	out := make([]mcp.Runner, len(entries))
	for i, r := range s.Jobs.Fresh(runners...) {
		out[i] = runnerView(r, entries[i].Workspace, r.Status(now, entries[i].Busy, policy), entries[i].Busy)
	}
	return out
}

func runnerView(r hub.Runner, workspace string, status hub.RunnerStatus, busy int) mcp.Runner {
	p := r.Presence
	out := mcp.Runner{
		ID: r.ID, Label: r.Label, Labels: append([]string{}, r.Labels...), Owner: string(r.Owner), Workspace: workspace,
		Status: string(status), Slots: p.Slots, BusySlots: busy, OS: p.OS, Arch: p.Arch, Hostname: r.Hostname, Version: p.Version,
		Capabilities: append([]string{}, p.Capabilities...), PairedAt: r.PairedAt, PairedBy: r.PairedBy,
		LastSeenAt: optional(p.SeenAt), RevokedAt: optional(r.RevokedAt),
	}
	if p.StatusText != "" || p.StatusLevel != "" {
		out.Message = &mcp.RunnerStatus{Text: p.StatusText, Level: p.StatusLevel}
	}
	return out
}

func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func noticesView(notices []dispatch.Notice) []mcp.Notice {
	var out []mcp.Notice
	for _, n := range notices {
		out = append(out, mcp.Notice{Code: string(n.Code), Message: n.Message, Hint: n.Hint})
	}
	return out
}
