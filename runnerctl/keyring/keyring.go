// Package keyring keeps a person's API key and a machine's runner token: in the
// operating system's keyring (Secret Service, Keychain, Credential Manager) or,
// said aloud, in a file that only its owner reads.
package keyring

import (
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/zalando/go-keyring"
)

// service names our entries in the system's keyring.
const service = "runnerhub"

// DefaultTimeout bounds one call to the system's keyring: a locked one may ask the
// person at the machine, and a broken one never answers.
const DefaultTimeout = 10 * time.Second

// ErrNotFound says that there is no such credential.
var ErrNotFound = errors.New("no such credential")

// UnavailableError says that the system has no usable keyring, and why.
type UnavailableError struct{ Err error }

// Error implements error.
func (e *UnavailableError) Error() string { return "no usable keyring: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

// Kind is where credentials are kept.
type Kind string

// The kinds of storage.
const (
	System Kind = "keyring"
	File   Kind = "file"
)

// Store keeps secrets by name.
type Store interface {
	Kind() Kind
	// Where tells a person where the secrets are.
	Where() string
	// Get returns ErrNotFound for a name that is not there.
	Get(name string) (string, error)
	Set(name, secret string) error
	// Delete of a name that is not there is no error.
	Delete(name string) error
}

// system is the operating system's keyring.
type system struct{ timeout time.Duration }

// OpenSystem returns the system's keyring; timeout 0 is DefaultTimeout. It says nothing yet about
// whether there is one: Probe does.
func OpenSystem(timeout time.Duration) Store {
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	return system{timeout}
}

func (system) Kind() Kind    { return System }
func (system) Where() string { return systemName }

func (s system) Get(name string) (string, error) {
	var secret string
	err := s.bounded(func() (err error) {
		secret, err = keyring.Get(service, name)
		return err
	})
	if err != nil {
		return "", err
	}
	return secret, nil
}

func (s system) Set(name, secret string) error {
	return s.bounded(func() error { return keyring.Set(service, name, secret) })
}

func (s system) Delete(name string) error {
	err := s.bounded(func() error { return keyring.Delete(service, name) })
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// bounded runs one call of the library, which knows no time-outs. A call that never returns leaves its
// goroutine behind until the program ends, which is soon.
func (s system) bounded(f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	t := time.NewTimer(s.timeout)
	defer t.Stop()
	select {
	case err := <-done:
		switch {
		case err == nil:
			return nil
		case errors.Is(err, keyring.ErrNotFound):
			return ErrNotFound
		case errors.Is(err, keyring.ErrSetDataTooBig):
			return err
		default:
			return &UnavailableError{err}
		}
	case <-t.C:
		return &UnavailableError{fmt.Errorf("%s did not answer within %s", systemName, s.timeout)}
	}
}

// Probe writes, reads and removes an entry, so that a token is never asked for that could not be kept.
func Probe(s Store) error {
	const secret = "runnerhub probe"
	name := "probe:" + rand.Text() // another command may be probing
	if err := s.Set(name, secret); err != nil {
		return err
	}
	got, err := s.Get(name)
	if err == nil && got != secret {
		err = &UnavailableError{errors.New("it gave back something else than was stored")}
	}
	return errors.Join(err, s.Delete(name))
}
