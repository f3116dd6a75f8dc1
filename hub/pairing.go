package hub

import "time"

// PairingState is where a pairing request is in its life.
type PairingState string

// The states: pending → approved → redeemed, or denied. Expired is derived from the time.
const (
	PairingPending  PairingState = "pending"
	PairingApproved PairingState = "approved"
	PairingRedeemed PairingState = "redeemed"
	PairingDenied   PairingState = "denied"
)

// Pairing is a machine's request to become a runner. It is opened by a machine and approved by a
// person who enters its code, or opened approved by a person (pair_runner) and redeemed with a pair_ token.
type Pairing struct {
	ID          string // prq_<uuid>
	State       PairingState
	CodeDigest  []byte // SHA-256 of the user code; nil with a pair_ token
	TokenDigest []byte // SHA-256 of the pair_ token; nil with a code
	PublicKey   []byte // the machine's Ed25519 key; nil with a pair_ token until it is redeemed
	Owner       Owner  // whose runner it becomes; empty until approved
	Workspace   string // slug that the machine asks for, whether or not there is one; empty for a personal runner
	Hostname    string
	OS, Arch    string
	Version     string
	Address     string // where the request came from
	Label       string
	Labels      []string
	ApprovedBy  string // user id
	RunnerID    string // once redeemed
	CreatedAt   time.Time
	ExpiresAt   time.Time
}

// PairingTTL is how long a code or pair_ token lives.
const PairingTTL = 10 * time.Minute

// Open says whether p can still be acted on at now, as an error if not. A code that is used up,
// denied or expired answers the same as one that never was, so that guessing learns nothing.
func (p Pairing) Open(want PairingState, now time.Time) error {
	if !now.Before(p.ExpiresAt) {
		return Errorf(NotFound, "the pairing code has expired").
			WithHint("run `runnerctl pair` again; a code lives for %d minutes", int(PairingTTL.Minutes()))
	}
	if p.State != want {
		return Errorf(Conflict, "the pairing is %s and cannot be used", p.State).
			WithHint("run `runnerctl pair` again; a code or pairing token works once")
	}
	return nil
}
