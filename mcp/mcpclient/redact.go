package mcpclient

import "regexp"

// credential matches everything that looks like a token of a hub's. The body of
// one is at least 27 characters long; a cut-off one is hidden too.
var credential = regexp.MustCompile(`\b(rnr|ak|inv|pair|job|cap)_[0-9A-Za-z]{12,}`)

// pairingCode matches the code that a person types, BCDF-GHJK.
var pairingCode = regexp.MustCompile(`/pairing/[0-9A-Za-z]{4}-?[0-9A-Za-z]{4}\b`)

// Redact replaces every credential in s, for logs and errors.
func Redact(s string) string {
	s = credential.ReplaceAllString(s, "${1}_…")
	return pairingCode.ReplaceAllString(s, "/pairing/…")
}
