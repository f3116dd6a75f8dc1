package hub

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// ReasonCode says in one word what stands between a runner and a job.
type ReasonCode string

// The reason codes.
const (
	ReasonReady             ReasonCode = "ready"
	ReasonBusy              ReasonCode = "busy"
	ReasonStale             ReasonCode = "stale"
	ReasonOffline           ReasonCode = "offline"
	ReasonDraining          ReasonCode = "draining"
	ReasonRevoked           ReasonCode = "revoked"
	ReasonUpdateRequired    ReasonCode = "update_required"
	ReasonMissingCapability ReasonCode = "missing_capability"
	ReasonMissingLabel      ReasonCode = "missing_label"
	ReasonPolicy            ReasonCode = "policy"        // its owner does not allow what the job asks for
	ReasonPaused            ReasonCode = "paused"        // it takes no jobs now, and says why
	ReasonOwnerDiffers      ReasonCode = "owner_differs" // it could take the job, which is for another owner's runners

	// Reasons that hold for every runner of a job's queue.
	ReasonNoRunner   ReasonCode = "no_runner"   // none is paired
	ReasonCapReached ReasonCode = "cap_reached" // as many jobs run as may
	ReasonGroupBusy  ReasonCode = "group_busy"  // another job of the concurrency group runs
)

// Reason is one cause in code and words.
type Reason struct {
	Code    ReasonCode
	Message string
	Hint    string // a command that would help on the runner's machine, or ""
	// Lines is the same for a list that names the runner above: the rule with what breaks it, then the command. "" for what
	// is not of the owner's policy.
	Lines string
}

// Refusals is what several reasons come to: a sentence, or what a runner's owner does not allow as a list.
func Refusals(label string, reasons []Reason) string {
	lines, sentences := []string{fmt.Sprintf("the owner of %s does not allow it:", label)}, make([]string, len(reasons))
	for i, r := range reasons {
		sentences[i] = r.Message
		if r.Lines != "" {
			lines = append(lines, "  "+strings.ReplaceAll(r.Lines, "\n", "\n  "))
		}
	}
	if len(reasons) > 1 && len(lines) == len(reasons)+1 {
		return strings.Join(lines, "\n")
	}
	return strings.Join(sentences, "; ")
}

// Demand is what a job asks of the machine that runs it.
type Demand struct {
	Requires []string // capabilities
	Labels   []string // of the owner's
	// Denied lists what a runner's owner refuses the job for; nil where that is not looked at.
	Denied func(Runner) []Reason
}

func (d Demand) denied(r Runner) []Reason {
	if d.Denied == nil {
		return nil
	}
	return d.Denied(r)
}

// Vocabulary is the fixed set of capabilities. Words outside it are dropped from
// what a runner advertises, so that a machine cannot attract jobs with words of its own.
var vocabulary = []string{
	"docker", "podman", "host", "gpu", "kvm",
	"linux", "windows", "darwin", "freebsd",
	"amd64", "arm64", "386", "arm", "ppc64le", "riscv64", "s390x",
}

// FilterCapabilities keeps the words of the vocabulary, sorted and once each.
func FilterCapabilities(words []string) []string {
	var out []string
	for _, w := range words {
		w = strings.ToLower(strings.TrimSpace(w))
		if slices.Contains(vocabulary, w) {
			out = append(out, w)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Missing returns the required capabilities that r lacks. The OS and
// architecture that r reports count as capabilities.
func (r Runner) Missing(requires []string) []string {
	have := append(slices.Clone(r.Presence.Capabilities), r.Presence.OS, r.Presence.Arch)
	return lacking(have, requires)
}

// MissingLabels returns the wanted labels that r's owner has not given it.
func (r Runner) MissingLabels(labels []string) []string {
	return lacking(append(slices.Clone(r.Labels), r.Label), labels)
}

func lacking(have, want []string) []string {
	var out []string
	for _, w := range want {
		if !slices.Contains(have, w) {
			out = append(out, w)
		}
	}
	return out
}

// Suits says what Fit does, without reasons and at no cost to speak of: a job that arrives is held against every
// runner that waits.
func (r Runner) Suits(d Demand) bool {
	for _, c := range d.Requires {
		if c != r.Presence.OS && c != r.Presence.Arch && !slices.Contains(r.Presence.Capabilities, c) {
			return false
		}
	}
	for _, l := range d.Labels {
		if l != r.Label && !slices.Contains(r.Labels, l) {
			return false
		}
	}
	return r.RevokedAt.IsZero() && len(d.denied(r)) == 0
}

// Fit says whether r could ever take the job as it stands: capable, labelled and
// allowed by its owner, though perhaps busy or offline, with a reason for each thing that is missing.
func Fit(r Runner, d Demand) (bool, []Reason) {
	var reasons []Reason
	for _, c := range r.Missing(d.Requires) {
		reasons = append(reasons, Reason{Code: ReasonMissingCapability, Message: fmt.Sprintf("%s lacks the capability %q", r.Label, c)})
	}
	for _, l := range r.MissingLabels(d.Labels) {
		reasons = append(reasons, Reason{Code: ReasonMissingLabel, Message: fmt.Sprintf("%s does not carry the label %q", r.Label, l)})
	}
	reasons = append(reasons, d.denied(r)...)
	if !r.RevokedAt.IsZero() {
		reasons = append(reasons, Reason{Code: ReasonRevoked, Message: r.Label + " was unpaired"})
	}
	return len(reasons) == 0, reasons
}

// Explain says whether r is eligible for a job and what stands between them at
// now. busy is how many live attempts r holds. A runner that could start the job at once has the one reason ready.
func Explain(r Runner, d Demand, busy int, now time.Time, p Policy) (eligible bool, reasons []Reason) {
	if r.Presence.SeenAt.IsZero() {
		d.Requires = nil // what a machine can do is known only once it has polled
	}
	eligible, reasons = Fit(r, d)
	add := func(c ReasonCode, format string, args ...any) {
		reasons = append(reasons, Reason{Code: c, Message: fmt.Sprintf(format, args...)})
	}
	switch r.Status(now, busy, p) {
	case RunnerRevoked: // Fit has said it
	case RunnerOffline:
		switch ago := now.Sub(r.Presence.SeenAt).Round(time.Second); {
		case r.Presence.SeenAt.IsZero():
			add(ReasonOffline, "%s has never asked for work; start it with `runnerctl run`", r.Label)
		case r.Presence.Gone():
			add(ReasonOffline, "%s was stopped at %s, %s ago", r.Label, r.Presence.SeenAt.UTC().Format(time.DateTime+" UTC"), ago)
		default:
			add(ReasonOffline, "%s is offline since %s, %s ago", r.Label, r.Presence.SeenAt.UTC().Format(time.DateTime+" UTC"), ago)
		}
	case RunnerStale:
		if r.Presence.Draining {
			add(ReasonDraining, "%s was stopped and has been silent for %s", r.Label, now.Sub(r.Presence.SeenAt).Round(time.Second))
			break
		}
		add(ReasonStale, "%s has been silent for %s", r.Label, now.Sub(r.Presence.SeenAt).Round(time.Second))
	case RunnerUpdateRequired:
		add(ReasonUpdateRequired, "%s speaks protocol %d and this hub needs %d", r.Label, r.Presence.Protocol, p.MinProtocol)
	case RunnerPaused:
		add(ReasonPaused, "%s takes no new jobs now: %s", r.Label, r.Presence.StatusText)
	case RunnerDraining:
		if busy == 0 {
			add(ReasonDraining, "%s was told to stop and takes no new jobs", r.Label)
			break
		}
		add(ReasonDraining, "%s is stopping: it ends what it runs (%d) and takes no new jobs", r.Label, busy)
	case RunnerBusy:
		add(ReasonBusy, "%s runs %d of %d jobs", r.Label, busy, max(1, r.Presence.Slots))
	case RunnerOnline:
		if eligible {
			add(ReasonReady, "%s is waiting for work", r.Label)
		}
	}
	return eligible, reasons
}

// NoRunnerSince returns since when no eligible runner of the job's queue has
// been online, or zero while one is. The clock starts no earlier than the job's last entry into the
// queue and started, when this hub began to hear polls.
func NoRunnerSince(j Job, d Demand, runners []Runner, started, now time.Time, p Policy) time.Time {
	since := later(j.QueuedAt, started)
	for _, r := range runners {
		if !r.Suits(d) || !r.Serves(j.QueueKey()) {
			continue
		}
		if !r.Presence.SeenAt.IsZero() && r.Presence.Protocol < p.MinProtocol { // it polls, and gets nothing
			continue
		}
		if !r.Presence.SeenAt.IsZero() && !r.Presence.Gone() && now.Sub(r.Presence.SeenAt) <= p.StaleAfter {
			return time.Time{}
		}
		since = later(since, r.Presence.SeenAt)
	}
	return since
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
