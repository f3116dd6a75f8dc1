package pairing

import (
	"crypto/rand"
	"math/big"
	"strings"
)

// A user code is eight letters, about 34.5 bits: consonants only, so that no word is
// spelled and nothing is mistaken for a digit (RFC 8628, section 6.1). It lives for minutes and its tries are counted.
const (
	codeAlphabet = "BCDFGHJKLMNPQRSTVWXZ"
	codeLen      = 8
)

// NewUserCode draws a code as people see it: BCDF-GHJK.
func NewUserCode() string {
	out := make([]byte, codeLen)
	for i := range out {
		n, _ := rand.Int(rand.Reader, big.NewInt(int64(len(codeAlphabet)))) // the system's source never fails
		out[i] = codeAlphabet[n.Int64()]
	}
	return string(out[:codeLen/2]) + "-" + string(out[codeLen/2:])
}

// NormalizeUserCode reads a code as people type it: any case, with or without the
// dash or spaces. ok is false when it cannot be a code.
func NormalizeUserCode(typed string) (code string, ok bool) {
	var b strings.Builder
	for _, r := range strings.ToUpper(typed) {
		switch {
		case r == '-' || r == ' ':
		case strings.ContainsRune(codeAlphabet, r):
			b.WriteRune(r)
		default:
			return "", false
		}
		if b.Len() > codeLen {
			return "", false
		}
	}
	s := b.String()
	if len(s) != codeLen {
		return "", false
	}
	return s[:codeLen/2] + "-" + s[codeLen/2:], true
}
