package hub

import (
	"crypto/sha256"
	"crypto/subtle"
)

// Proof is what a runner shows with every call about an attempt.
type Proof struct {
	Attempt int
	Epoch   int64
	Nonce   string // the plaintext; only its digest is stored
}

// Digest is how a secret is stored: its SHA-256.
func Digest(secret string) []byte {
	d := sha256.Sum256([]byte(secret))
	return d[:]
}

// Fence tells whether p holds the job's lease: nil, or a StaleLease or
// AlreadySettled error. A holder that gets one must kill its containers at once.
func (j Job) Fence(p Proof) error {
	current := p.Attempt == j.Attempt && p.Epoch == j.Epoch
	switch {
	case j.State.Ended() && current:
		return Errorf(AlreadySettled, "the job has ended already: %s", j.State).
			WithHint("stop the attempt and remove its containers; nothing more is expected")
	case !current || !j.State.Live() || subtle.ConstantTimeCompare(Digest(p.Nonce), j.LeaseDigest) != 1:
		return staleLease()
	}
	return nil
}

func staleLease() *Error {
	return Errorf(StaleLease, "this lease is not the job's current one").
		WithHint("kill the attempt's containers at once; another runner may hold the job")
}

// FenceAttempt tells whether p names attempt a and proves it, whatever became of
// it since: late log bytes and repeated reports need that.
func FenceAttempt(a Attempt, p Proof) error {
	if p.Attempt != a.Number || p.Epoch != a.Epoch || subtle.ConstantTimeCompare(Digest(p.Nonce), a.LeaseDigest) != 1 {
		return staleLease()
	}
	return nil
}

// Repeat tells what a report is that arrives after attempt a has ended: nil for
// the same report again (accepted, a duplicate), else AlreadySettled or StaleLease.
func Repeat(a Attempt, p Proof, reportDigest []byte) error {
	if err := FenceAttempt(a, p); err != nil {
		return err
	}
	switch {
	case len(a.ReportDigest) == 0:
		return staleLease()
	case subtle.ConstantTimeCompare(a.ReportDigest, reportDigest) == 1:
		return nil
	default:
		return Errorf(AlreadySettled, "another report of this attempt was accepted first").
			WithHint("the first report wins; nothing more is expected")
	}
}
