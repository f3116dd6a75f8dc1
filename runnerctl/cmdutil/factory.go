// Package cmdutil is what all commands of runnerctl share: where settings and
// credentials come from, clients, output, and how errors become exit codes.
package cmdutil

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/adrg/xdg"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
	"github.com/runnerhub/runnerhub/runnerctl/iostreams"
	"github.com/runnerhub/runnerhub/runnerctl/keyring"
	"github.com/runnerhub/runnerhub/runnerctl/profile"
	"github.com/runnerhub/runnerhub/topology"
)

// Environment variables that commands read. RUNNERCTL_HUB and RUNNERCTL_API_KEY go before what
// a profile holds, which is how agents and CI use a hub without signing in.
const (
	EnvProfile      = "RUNNERCTL_PROFILE"
	EnvHub          = "RUNNERCTL_HUB"
	EnvAPIKey       = "RUNNERCTL_API_KEY"
	EnvPairingToken = "RUNNERCTL_PAIRING_TOKEN"
)

// Factory makes what a command needs. Tests replace its fields.
type Factory struct {
	IO          *iostreams.IOStreams
	Getenv      func(string) string
	Now         func() time.Time
	ConfigDir   string // profiles, and the credentials where there is no keyring
	StateDir    string // spools and locks of runners
	ProfileName string // --profile

	// Keyring is the system's.
	Keyring keyring.Store
	// NewExecutor connects to this machine's container engine.
	NewExecutor func(ctx context.Context) (topology.Executor, error)
	// Signals delivers the signals that ask a runner to stop, until the function it returns is called.
	Signals func() (<-chan struct{}, func())
}

// DefaultDirs returns the configuration and state folders by the system's conventions.
func DefaultDirs() (config, state string) {
	return filepath.Join(xdg.ConfigHome, "runnerhub"), filepath.Join(xdg.StateHome, "runnerhub")
}

// Profiles is the file of profiles.
func (f *Factory) Profiles() profile.File {
	return profile.File{Path: filepath.Join(f.ConfigDir, "profiles.json")}
}

// Name is the profile in use: --profile, RUNNERCTL_PROFILE, or the default.
func (f *Factory) Name() (string, error) {
	name := f.ProfileName
	if name == "" {
		name = f.Getenv(EnvProfile)
	}
	if name == "" {
		name = profile.DefaultName
	}
	if err := profile.CheckName(name); err != nil {
		return "", &mcp.Error{Code: mcp.CodeInvalidArgument, Message: err.Error(), Hint: "choose another --profile"}
	}
	return name, nil
}

// Profile returns the profile in use, which may be empty.
func (f *Factory) Profile() (string, profile.Profile, error) {
	name, err := f.Name()
	if err != nil {
		return "", profile.Profile{}, err
	}
	c, err := f.Profiles().Load()
	if err != nil {
		return "", profile.Profile{}, err
	}
	return name, c.Profiles[name], nil
}

// Hub is the address to use: RUNNERCTL_HUB, or the profile's.
func (f *Factory) Hub(p profile.Profile) (string, error) {
	if url := f.Getenv(EnvHub); url != "" {
		return url, nil
	}
	if p.Hub == "" {
		return "", &mcp.Error{
			Code: mcp.CodeUnauthenticated, Message: "no hub is known here",
			Hint: "sign in with `runnerctl login --hub URL`, pair with `runnerctl pair --hub URL`, or set " + EnvHub + " and " + EnvAPIKey,
		}
	}
	return p.Hub, nil
}

// Storage is where the credentials of a profile are, or would be.
func (f *Factory) Storage(k keyring.Kind) keyring.Store {
	if k == keyring.File {
		return keyring.OpenFile(filepath.Join(f.ConfigDir, "credentials.json"))
	}
	return f.Keyring
}

// Names of the credentials of a profile in a storage.
func runnerEntry(profileName string) string { return "runner:" + profileName }
func keyEntry(profileName string) string    { return "api-key:" + profileName }

// RunnerToken returns this machine's token.
func (f *Factory) RunnerToken(name string, p profile.Profile) (string, error) {
	notPaired := &mcp.Error{
		Code: mcp.CodeUnauthenticated, Message: "this machine is not paired (profile " + name + ")",
		Hint: "pair it with `runnerctl pair --hub URL`",
	}
	if p.RunnerID == "" {
		return "", notPaired
	}
	s := f.Storage(p.Storage)
	token, err := s.Get(runnerEntry(name))
	if errors.Is(err, keyring.ErrNotFound) {
		notPaired.Message = "the runner's token is gone from " + s.Where() + " (profile " + name + ")"
		notPaired.Hint = "pair again: `runnerctl unpair`, then `runnerctl pair --hub " + p.Hub + "`"
		return "", notPaired
	}
	if err != nil {
		return "", storageError(s, err)
	}
	return token, nil
}

// APIKey returns the person's key: RUNNERCTL_API_KEY, or the one that `login` kept.
func (f *Factory) APIKey(name string, p profile.Profile) (string, error) {
	if key := f.Getenv(EnvAPIKey); key != "" {
		return key, nil
	}
	notSignedIn := &mcp.Error{
		Code: mcp.CodeUnauthenticated, Message: "not signed in (profile " + name + ")",
		Hint: "sign in with `runnerctl login`, or set " + EnvAPIKey,
	}
	if p.Login == "" {
		return "", notSignedIn
	}
	s := f.Storage(p.Storage)
	key, err := s.Get(keyEntry(name))
	if errors.Is(err, keyring.ErrNotFound) {
		return "", notSignedIn
	}
	if err != nil {
		return "", storageError(s, err)
	}
	return key, nil
}

// PutRunnerToken and the others keep and drop credentials where the profile says.
func (f *Factory) PutRunnerToken(name string, s keyring.Store, token string) error {
	return storageError(s, s.Set(runnerEntry(name), token))
}

// DropRunnerToken forgets the machine's token.
func (f *Factory) DropRunnerToken(name string, s keyring.Store) error {
	return storageError(s, s.Delete(runnerEntry(name)))
}

// PutAPIKey keeps the person's key.
func (f *Factory) PutAPIKey(name string, s keyring.Store, key string) error {
	return storageError(s, s.Set(keyEntry(name), key))
}

// DropAPIKey forgets the person's key.
func (f *Factory) DropAPIKey(name string, s keyring.Store) error {
	return storageError(s, s.Delete(keyEntry(name)))
}

func storageError(s keyring.Store, err error) error {
	if err == nil {
		return nil
	}
	return &mcp.Error{
		Code: mcp.CodeUnavailable, Message: fmt.Sprintf("cannot use %s: %v", s.Where(), err),
		Hint: "unlock it and try again, or use --insecure-storage with `runnerctl pair` or `runnerctl login`",
	}
}

// ChooseStorage decides where a profile's credentials go, and proves that it works before
// anything is asked for that could then not be kept. What a profile chose before holds, unless insecure asks for the file.
func (f *Factory) ChooseStorage(p profile.Profile, insecure bool) (keyring.Store, error) {
	if insecure || p.Storage == keyring.File {
		s := f.Storage(keyring.File)
		if err := keyring.Probe(s); err != nil {
			return nil, storageError(s, err)
		}
		return s, nil
	}
	err := keyring.Probe(f.Keyring)
	if err == nil {
		return f.Keyring, nil
	}
	if p.Storage == keyring.System { // credentials are in there already: do not scatter them
		return nil, storageError(f.Keyring, err)
	}
	s := f.Storage(keyring.File)
	fmt.Fprintf(f.IO.Err, "warning: %v\nwarning: the credential goes into a plain file that only you can read: %s\n", err, s.Where())
	if err := keyring.Probe(s); err != nil {
		return nil, storageError(s, err)
	}
	return s, nil
}

// People returns a client that calls as the signed-in person.
func (f *Factory) People() (*mcpclient.Client, error) {
	name, p, err := f.Profile()
	if err != nil {
		return nil, err
	}
	url, err := f.Hub(p)
	if err != nil {
		return nil, err
	}
	key, err := f.APIKey(name, p)
	if err != nil {
		return nil, err
	}
	return f.Client(url, key)
}

// Client returns a client with a token, "" for none.
func (f *Factory) Client(url, token string) (*mcpclient.Client, error) {
	return mcpclient.New(mcpclient.Config{URL: url, Token: func() string { return token }})
}

// SpoolDir is where a profile's runner keeps what it has not sent yet.
func (f *Factory) SpoolDir(name string) string { return filepath.Join(f.StateDir, "spool", name) }
