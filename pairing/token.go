// Package pairing holds what credentials are made of: the one recipe for
// tokens, the codes that people type, and the keys that a machine proves itself
// with while it pairs. It imports no other package of this project.
package pairing

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"math/big"
	"strings"
)

// Prefix says what a token is for.
type Prefix string

// The prefixes.
const (
	RunnerToken  Prefix = "rnr"  // a paired machine
	APIKey       Prefix = "ak"   // a person or agent
	PairingToken Prefix = "pair" // pairs one machine, once
	Capability   Prefix = "cap"  // sends the bytes of one log or upload
	LeaseToken   Prefix = "lse"  // the nonce of one lease
)

// A token is PREFIX_BODYCHECKSUM: bodyLen base62 digits, about 178 bits, and the
// CRC-32 (IEEE) of all before it in checksumLen base62 digits. The checksum lets a
// typo be told without a look-up and lets secret scanners find our tokens.
const (
	alphabet    = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	bodyLen     = 30
	checksumLen = 6
	maxLen      = 64
)

// The ways in which a string is not a token.
var (
	ErrFormat   = errors.New("this is not a token of Runner Hub")
	ErrPrefix   = errors.New("this token is for something else")
	ErrChecksum = errors.New("the token is mistyped: its checksum does not match")
)

// New draws a token from the system's random source, which never fails.
func New(p Prefix) string {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // crypto/rand.Read never returns an error
	return assemble(p, raw)
}

// Derive makes the token that belongs to a secret and parts: always the same for
// the same ones, and not to be guessed without the secret.
func Derive(p Prefix, secret []byte, parts ...string) string {
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "%s", p)
	for _, s := range parts {
		fmt.Fprintf(mac, "\x00%d:%s", len(s), s) // lengths keep ("a","bc") and ("ab","c") apart
	}
	return assemble(p, mac.Sum(nil))
}

// Check tells whether token is well formed and has one of the prefixes, and returns which.
// It says nothing about whether the token is known.
func Check(token string, want ...Prefix) (Prefix, error) {
	head, rest, ok := strings.Cut(token, "_")
	if !ok || len(token) > maxLen || len(rest) != bodyLen+checksumLen || strings.Trim(rest, alphabet) != "" {
		return "", ErrFormat
	}
	p := Prefix(head)
	switch p {
	case RunnerToken, APIKey, PairingToken, Capability, LeaseToken:
	default:
		return "", ErrFormat
	}
	cut := len(token) - checksumLen
	if checksum(token[:cut]) != token[cut:] {
		return "", ErrChecksum
	}
	for _, w := range want {
		if p == w {
			return p, nil
		}
	}
	return p, ErrPrefix
}

func assemble(p Prefix, raw []byte) string {
	s := string(p) + "_" + base62(new(big.Int).SetBytes(raw), bodyLen)
	return s + checksum(s)
}

func checksum(s string) string {
	return base62(big.NewInt(int64(crc32.ChecksumIEEE([]byte(s)))), checksumLen)
}

// base62 writes the lowest digits of n.
func base62(n *big.Int, digits int) string {
	out := make([]byte, digits)
	base, rem := big.NewInt(int64(len(alphabet))), new(big.Int)
	n = new(big.Int).Set(n)
	for i := digits - 1; i >= 0; i-- {
		n.DivMod(n, base, rem)
		out[i] = alphabet[rem.Int64()]
	}
	return string(out)
}
