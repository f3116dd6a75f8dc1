// Package cmdutil is what all commands of runnerctl share: where settings and
// credentials come from, clients, output, and how errors become exit codes.
package cmdutil

import (
	"context"
	"net/netip"
	"path/filepath"
	"time"

	"github.com/adrg/xdg"
	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/mcp"
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
	HomeDir     string // the person's
	SettingsDir string // where other programs keep what a person sets

	// Keyring is the system's.
	Keyring keyring.Store
	// Engine says how NewExecutor's executor is to use the engine.
	Engine EngineOptions
	// NewExecutor connects to this machine's container engine.
	NewExecutor func(ctx context.Context) (topology.Executor, error)
	// Compose reads the Compose files of jobs from their sources; see agent.Compose.
	Compose func(ctx context.Context, dir string, spec *topology.Spec) (*topology.Spec, []string, *topology.Failure)
	// SurveyEngine says where an engine was looked for, and what was found.
	SurveyEngine func(ctx context.Context) topology.Survey
	// Signals delivers the signals that ask the program to stop, until the function it returns is called;
	// from then on they end it at once. That function may be called more than once.
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
	return name, c.Profiles[name], err
}

// SpoolDir is where a profile's runner keeps what it has not sent yet.
func (f *Factory) SpoolDir(name string) string { return filepath.Join(f.StateDir, "spool", name) }

// CacheDir is where a profile's runner keeps folders of jobs.
func (f *Factory) CacheDir(name string) string { return filepath.Join(f.StateDir, "cache", name) }

// ownSignals marks commands that handle the signals by themselves.
const ownSignals = "runnerctl.signals"

// HandlesSignals says that a command asks Factory.Signals itself. For every other one the first signal ends its context.
func HandlesSignals(c *cobra.Command) { c.Annotations = map[string]string{ownSignals: "yes"} }

// Interruptible makes c's context end with the first signal; the second one ends the program at once. The context must
// end when the command has.
func (f *Factory) Interruptible(c *cobra.Command) {
	if f.Signals == nil || c.Annotations[ownSignals] != "" {
		return
	}
	ctx, cancel := context.WithCancel(c.Context())
	signals, stop := f.Signals()
	go func() {
		select {
		case <-signals:
		case <-ctx.Done():
		}
		stop()
		cancel()
	}()
	c.SetContext(ctx)
}

// EngineOptions are what a runner wants of its executor.
type EngineOptions struct {
	Slots    int            // how many jobs run at once; 0 is one
	Subnets  []netip.Prefix // where networks get their addresses from; nil is the default, empty the engine's own choice
	WarmFor  time.Duration  // how long services with reuse stay after their last job, and a pod for the next one; 0 is not at all
	ReadyPod bool           // a pod is made ahead of the next job
}
