package hub

import "time"

// Runner is a paired machine.
type Runner struct {
	ID          string // rnr-<uuid>
	Owner       Owner
	Label       string   // unique among the owner's runners that are not revoked
	Labels      []string // further words of the owner's; never advertised by the machine
	TokenDigest []byte   // SHA-256 of the rnr_ token
	Hostname    string
	PairedBy    string // user id
	PairedAt    time.Time
	RevokedAt   time.Time // zero: paired
	// Policy outlines what its owner lets jobs do there, as the machine told it last: JSON of package
	// topology/policy, "" when it told nothing.
	Policy   string
	Presence Presence
}

// Presence is what a runner last told of itself by polling. A store keeps it
// apart from the runner's identity and writes it at most every Policy.PresenceWrite.
type Presence struct {
	OS, Arch, Version string
	Protocol          int
	Capabilities      []string // filtered to the vocabulary, sorted
	Slots             int
	FreeSlots         int
	Draining          bool
	StatusText        string
	StatusLevel       string
	SeenAt            time.Time // zero: never polled
	LeftAt            time.Time // zero, or when it said that it ends
}

// Gone says that the last that was heard of the runner is that it ends.
func (p Presence) Gone() bool { return !p.LeftAt.IsZero() && !p.LeftAt.Before(p.SeenAt) }

// RunnerStatus is a runner's presence in one word.
type RunnerStatus string

// The statuses of a runner.
const (
	RunnerOnline         RunnerStatus = "online"
	RunnerBusy           RunnerStatus = "busy" // online with no free slot
	RunnerStale          RunnerStatus = "stale"
	RunnerOffline        RunnerStatus = "offline"
	RunnerDraining       RunnerStatus = "draining"
	RunnerPaused         RunnerStatus = "paused" // it takes no jobs for a reason that it tells, and is there
	RunnerUpdateRequired RunnerStatus = "update_required"
	RunnerRevoked        RunnerStatus = "revoked"
)

// Status derives the status at now. busy is how many live attempts the runner holds.
func (r Runner) Status(now time.Time, busy int, p Policy) RunnerStatus {
	since := now.Sub(r.Presence.SeenAt)
	switch {
	case !r.RevokedAt.IsZero():
		return RunnerRevoked
	case r.Presence.SeenAt.IsZero() || r.Presence.Gone() || since > p.OfflineAfter:
		return RunnerOffline
	case r.Presence.Protocol < p.MinProtocol:
		return RunnerUpdateRequired
	case since > p.StaleAfter:
		return RunnerStale
	case r.Presence.Draining && r.Presence.StatusLevel != "" && r.Presence.StatusLevel != "ok" && r.Presence.StatusText != "":
		return RunnerPaused
	case r.Presence.Draining:
		return RunnerDraining
	case busy >= max(1, r.Presence.Slots):
		return RunnerBusy
	default:
		return RunnerOnline
	}
}

// Serves says whether the runner drains queue k.
func (r Runner) Serves(k QueueKey) bool {
	o, id := k.Split()
	return o == r.Owner && (id == "" || id == r.ID)
}
