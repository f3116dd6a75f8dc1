package mcp

// Machine is what a machine says of itself when it pairs. The person who approves sees it.
type Machine struct {
	Hostname string `json:"hostname"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	Version  string `json:"version"`
}

// StartPairingArgs opens a pairing request: POST /api/v1/pairing, without a token. PublicKey is an
// Ed25519 key made for this pairing, base64; its fingerprint is shown on both sides.
type StartPairingArgs struct {
	Machine   Machine `json:"machine"`
	PublicKey string  `json:"public_key"`
	Label     string  `json:"label,omitempty"`
	Workspace string  `json:"workspace,omitempty"` // slug; empty pairs for the person who approves
}

// StartPairingResult holds what the machine shows its user.
type StartPairingResult struct {
	PairingID       string `json:"pairing_id"`
	UserCode        string `json:"user_code"`        // BCDF-GHJK
	VerificationURL string `json:"verification_url"` // where to enter it
	Fingerprint     string `json:"fingerprint"`      // SHA256:… of the public key
	ExpiresInMS     int64  `json:"expires_in_ms"`
}

// RedeemPairingArgs ends a pairing: POST /api/v1/pairing/redeem. It holds either the id of a request that
// a person approves, or a pair_ token. Signature is over RedeemMessage by the request's (or a fresh) key.
type RedeemPairingArgs struct {
	PairingID    string  `json:"pairing_id,omitempty"`
	PairingToken string  `json:"pairing_token,omitempty"`
	Machine      Machine `json:"machine"`
	PublicKey    string  `json:"public_key"`
	Signature    string  `json:"signature"`
	Label        string  `json:"label,omitempty"` // with a pair_ token that names none
	WaitMS       int64   `json:"wait_ms,omitempty"`
}

// States of a pairing request.
const (
	PairingPending  = "pending"
	PairingApproved = "approved"
	PairingRedeemed = "redeemed"
	PairingDenied   = "denied"
	PairingExpired  = "expired"
)

// RedeemPairingResult answers pending while nobody has approved; once approved it carries the token, once.
type RedeemPairingResult struct {
	State  string  `json:"state"`
	Runner *Runner `json:"runner,omitempty"`
	Token  string  `json:"token,omitempty"` // rnr_…
}

// PairingView is what the person who approves sees: GET /api/v1/pairing/{code}.
type PairingView struct {
	PairingID   string  `json:"pairing_id"`
	State       string  `json:"state"`
	Machine     Machine `json:"machine"`
	Address     string  `json:"address"` // where the request came from
	Fingerprint string  `json:"fingerprint"`
	Label       string  `json:"label"`
	Workspace   string  `json:"workspace,omitempty"`
	ExpiresInMS int64   `json:"expires_in_ms"`
}

// DecidePairingArgs approves or denies: POST /api/v1/pairing/decide.
type DecidePairingArgs struct {
	UserCode string   `json:"user_code"`
	Approve  bool     `json:"approve"`
	Label    string   `json:"label,omitempty"` // overrides the machine's wish
	Labels   []string `json:"labels,omitempty"`
}

// RedeemMessage is what RedeemPairingArgs.Signature signs. The prefix keeps the signature from meaning
// anything elsewhere.
func RedeemMessage(pairingIDOrToken string) []byte {
	return []byte("runnerhub pairing v1\n" + pairingIDOrToken)
}
