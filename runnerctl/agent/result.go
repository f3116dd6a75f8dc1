package agent

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/topology"
)

// Limits of the wire contract on what an executor says, in bytes.
const (
	maxMessage = 8 << 10
	maxHint    = 2 << 10
	maxName    = 256
	maxReason  = 200
)

// resultOf is an execution's outcome in the words of the wire contract.
func resultOf(r topology.Result, logBytes int64) *mcp.Result {
	out := &mcp.Result{
		Status: string(r.Status), ExitCode: r.ExitCode, Signal: clip(r.Signal, 32), Images: r.Images, WarmServices: r.Warm,
		Usage: mcp.Usage{
			CPUMS: r.Usage.CPU.Milliseconds(), MemoryPeakBytes: r.Usage.MemoryPeak, WallMS: r.Usage.Wall.Milliseconds(),
			DiskPeakBytes: r.Usage.DiskPeak, PulledBytes: r.Usage.Pulled,
		},
		PhasesMS: millis(r.Phases),
		Leaks:    mcp.Leaks{Containers: r.Leaks.Containers, Networks: r.Leaks.Networks, Volumes: r.Leaks.Volumes},
		LogBytes: logBytes,
	}
	out.Note = clip(r.Note, maxReason)
	out.Artifacts, out.ArtifactsMore = listed(r.Artifacts)
	out.Outputs, out.Tests, out.Caches = r.Outputs, testsOf(r.Tests), cachesOf(r.Caches)
	if c := r.Changes; c != nil {
		out.Changes = &mcp.Changes{Added: c.Added, Modified: c.Modified, Deleted: c.Deleted, LeftOut: c.LeftOut, Ignored: c.Ignored}
	}
	for _, s := range r.Steps {
		step := mcp.StepResult{
			Name: clip(s.Name, maxName), Status: s.Status, ExitCode: s.ExitCode, Signal: clip(s.Signal, 32), DurationMS: s.Duration.Milliseconds(),
		}
		if !s.StartedAt.IsZero() {
			at := s.StartedAt.UTC()
			step.StartedAt = &at
		}
		out.Steps = append(out.Steps, step)
	}
	out.Failure = failureOf(r)
	return out
}

// millis is how long an attempt was busy with what, nil where nobody looked at the clock.
func millis(phases map[topology.Phase]time.Duration) map[string]int64 {
	if len(phases) == 0 {
		return nil
	}
	out := map[string]int64{}
	for p, d := range phases {
		out[string(p)] = d.Milliseconds()
	}
	return out
}

// failureOf holds to the rule that a failure goes with every status but
// succeeded, and that it has a class and a message.
func failureOf(r topology.Result) *mcp.Failure {
	if r.Status == topology.Succeeded {
		return nil
	}
	f := r.Failure
	if f == nil {
		class := map[topology.Status]topology.Class{
			topology.Canceled: topology.ClassCanceled, topology.TimedOut: topology.ClassTimeout, topology.Failed: topology.ClassScript,
		}[r.Status]
		f = &topology.Failure{Class: class}
	}
	out := &mcp.Failure{
		Class: string(f.Class), Message: clip(f.Message, maxMessage), Hint: clip(f.Hint, maxHint), Container: clip(f.Container, maxName),
	}
	if out.Class == "" {
		out.Class = string(topology.ClassInternal)
	}
	if strings.TrimSpace(out.Message) == "" {
		out.Message = "The job ended as " + string(r.Status) + "."
	}
	return out
}

// internal is the result of an execution that went wrong by our own fault.
func internal(message string) topology.Result {
	return topology.Result{Status: topology.Failed, Failure: &topology.Failure{
		Class: topology.ClassInternal, Message: message, Hint: "Look at the runner's log; it is a fault of the runner's and not of the job's.",
	}}
}

// clip cuts s to at most n bytes, between two characters, with an ellipsis.
func clip(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	n -= len("…")
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
