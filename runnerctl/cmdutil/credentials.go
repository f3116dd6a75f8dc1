package cmdutil

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/keyring"
	"github.com/runnerhub/runnerhub/runnerctl/profile"
)

// Credential is a kind of secret that a profile can hold.
type Credential string

// The credentials. An entry of the storage bears the profile's name and the hub's address: whoever changes the address
// in profiles.json finds no credential instead of sending it there.
const (
	RunnerToken Credential = "runner"
	APIKey      Credential = "api-key"
)

func (c Credential) entry(name string, p profile.Profile) string {
	return fmt.Sprintf("%s:%s:%s", c, name, p.Hub)
}

// Storage is where the credentials of a profile are, or would be.
func (f *Factory) Storage(k keyring.Kind) keyring.Store {
	if k == keyring.File {
		return keyring.OpenFile(filepath.Join(f.ConfigDir, "credentials.json"))
	}
	return f.Keyring
}

// Put keeps a credential for p.Hub where p.Storage says.
func (f *Factory) Put(c Credential, name string, p profile.Profile, secret string) error {
	s := f.Storage(p.Storage)
	return storageError(s, s.Set(c.entry(name, p), secret))
}

// Drop forgets a credential; one that is not there is no error.
func (f *Factory) Drop(c Credential, name string, p profile.Profile) error {
	s := f.Storage(p.Storage)
	return storageError(s, s.Delete(c.entry(name, p)))
}

func (f *Factory) get(c Credential, name string, p profile.Profile) (string, error) {
	s := f.Storage(p.Storage)
	secret, err := s.Get(c.entry(name, p))
	return secret, storageError(s, err)
}

// Token returns this machine's token for the profile's hub.
func (f *Factory) Token(name string, p profile.Profile) (string, error) {
	if !p.Paired() {
		return "", &mcp.Error{
			Code: mcp.CodeUnauthenticated, Message: "this machine is not paired (profile " + name + ")",
			Hint: "pair it with `runnerctl pair --hub URL`",
		}
	}
	token, err := f.get(RunnerToken, name, p)
	if errors.Is(err, keyring.ErrNotFound) {
		return "", &mcp.Error{
			Code: mcp.CodeUnauthenticated, Message: "the runner's token is gone from " + f.Storage(p.Storage).Where() + " (profile " + name + ")",
			Hint: "pair again: `runnerctl unpair`, then `runnerctl pair --hub " + p.Hub + "`",
		}
	}
	return token, err
}

// Key returns the key that `login` kept for the profile's hub.
func (f *Factory) Key(name string, p profile.Profile) (string, error) {
	notSignedIn := &mcp.Error{
		Code: mcp.CodeUnauthenticated, Message: "not signed in (profile " + name + ")",
		Hint: "sign in with `runnerctl login`, or set " + EnvAPIKey,
	}
	if !p.SignedIn() {
		return "", notSignedIn
	}
	key, err := f.get(APIKey, name, p)
	if errors.Is(err, keyring.ErrNotFound) {
		notSignedIn.Message = "the API key is gone from " + f.Storage(p.Storage).Where() + " (profile " + name + ")"
		return "", notSignedIn
	}
	return key, err
}

// apiKey is the key for calls to hub: RUNNERCTL_API_KEY, or the kept one, which goes to its own hub alone.
func (f *Factory) apiKey(name string, p profile.Profile, hub string) (string, error) {
	if key := f.Getenv(EnvAPIKey); key != "" {
		return key, nil
	}
	if p.SignedIn() && !SameHub(hub, p.Hub) {
		return "", &mcp.Error{
			Code: mcp.CodeUnauthenticated, Message: fmt.Sprintf("%s is %s, but the key of the profile %s is for %s", EnvHub, hub, name, p.Hub),
			Hint: "set " + EnvAPIKey + " too, or unset " + EnvHub + " and sign in to that hub under --profile NAME",
		}
	}
	return f.Key(name, p)
}

// storageError is an error of a storage as people see it; that there is no such credential stays as it is.
func storageError(s keyring.Store, err error) error {
	if err == nil || errors.Is(err, keyring.ErrNotFound) {
		return err
	}
	e := &mcp.Error{
		Code: mcp.CodeUnavailable, Message: fmt.Sprintf("cannot use %s: %v", s.Where(), err),
		Hint: "see what the message names, and try again",
	}
	if s.Kind() == keyring.System {
		e.Hint = "unlock it and try again; or use a file, with --insecure-storage of `runnerctl pair` and `runnerctl login`"
	}
	return e
}

// ChooseStorage decides where a profile's first credential goes, and proves that it works before
// anything is asked for that could then not be kept. What a profile chose before holds.
func (f *Factory) ChooseStorage(name string, p profile.Profile, insecure bool) (keyring.Kind, error) {
	file := f.Storage(keyring.File)
	switch {
	case p.InUse() && p.Storage == keyring.System && insecure:
		return "", &mcp.Error{
			Code: mcp.CodeConflict, Message: fmt.Sprintf("the profile %s keeps its credentials in %s already", name, f.Keyring.Where()),
			Hint: "leave --insecure-storage out; or move with `runnerctl logout` and `runnerctl unpair` first",
		}
	case insecure || p.Storage == keyring.File:
		return keyring.File, storageError(file, keyring.Probe(file))
	}
	err := keyring.Probe(f.Keyring)
	if err == nil || p.Storage == keyring.System { // there may be credentials in it: do not scatter them
		return keyring.System, storageError(f.Keyring, err)
	}
	f.IO.Note("warning: %v\nwarning: the credential goes into a plain file that only you can read: %s\n", err, file.Where())
	return keyring.File, storageError(file, keyring.Probe(file))
}
