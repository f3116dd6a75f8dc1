package pairing

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
)

// ErrKey says that bytes are not an Ed25519 public key in base64.
var ErrKey = errors.New("not an Ed25519 public key in base64")

// NewKey draws the key pair that a machine proves itself with while it pairs.
func NewKey() (public string, private ed25519.PrivateKey) {
	pub, priv, _ := ed25519.GenerateKey(rand.Reader) // the system's source never fails
	return base64.StdEncoding.EncodeToString(pub), priv
}

// ParseKey reads a public key.
func ParseKey(public string) (ed25519.PublicKey, error) {
	raw, err := base64.StdEncoding.DecodeString(public)
	if err != nil || len(raw) != ed25519.PublicKeySize {
		return nil, ErrKey
	}
	return raw, nil
}

// Fingerprint is what a person compares on both sides: SHA256: and the key's digest in base64, as OpenSSH writes it.
func Fingerprint(key ed25519.PublicKey) string {
	d := sha256.Sum256(key)
	return "SHA256:" + base64.RawStdEncoding.EncodeToString(d[:])
}

// Sign signs message, in base64.
func Sign(private ed25519.PrivateKey, message []byte) string {
	return base64.StdEncoding.EncodeToString(ed25519.Sign(private, message))
}

// Verify tells whether signature, in base64, is key's over message.
func Verify(key ed25519.PublicKey, message []byte, signature string) bool {
	raw, err := base64.StdEncoding.DecodeString(signature)
	return err == nil && len(key) == ed25519.PublicKeySize && ed25519.Verify(key, message, raw)
}
