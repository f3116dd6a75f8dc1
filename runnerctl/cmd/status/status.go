// Package status is `runnerctl status`.
package status

import (
	"context"
	"sync"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
)

// Options is what the command line says.
type Options struct {
	F    *cmdutil.Factory
	JSON bool
}

// Status is what the command prints.
type Status struct {
	Engine      Engine   `json:"engine"`
	Environment []string `json:"environment"` // variables that go before what the profiles say
	Profiles    []Hub    `json:"profiles"`
}

// Engine is this machine's container engine.
type Engine struct {
	Name         string   `json:"name,omitempty"`
	Endpoint     string   `json:"endpoint,omitempty"`
	Capabilities []string `json:"capabilities"`
	Error        string   `json:"error,omitempty"`
}

// Hub is one profile.
type Hub struct {
	Profile   string `json:"profile"`
	InUse     bool   `json:"in_use"` // commands use this one
	Hub       string `json:"hub"`
	Reachable bool   `json:"reachable"`
	Login     string `json:"login,omitempty"`
	SignedIn  bool   `json:"signed_in"`

	Workspaces []mcp.WorkspaceRole `json:"workspaces,omitempty"`

	RunnerID   string `json:"runner_id,omitempty"`
	Label      string `json:"label,omitempty"`
	Owner      string `json:"owner,omitempty"`
	Paired     bool   `json:"paired"`
	Running    string `json:"running,omitempty"` // the runner's status at the hub, where the signed-in person may see it
	Why        string `json:"why,omitempty"`     // what the runner says when it takes no jobs
	Storage    string `json:"storage"`
	StoredIn   string `json:"stored_in"`
	Error      string `json:"error,omitempty"`
	TokenError string `json:"token_error,omitempty"`
}

// New makes the command; run replaces its body in tests.
func New(f *cmdutil.Factory, run func(context.Context, *Options) error) *cobra.Command {
	if run == nil {
		run = status
	}
	o := &Options{F: f}
	c := &cobra.Command{
		Use:   "status",
		Short: "Show the hubs this machine knows, its pairings, where tokens are kept, and its container engine",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	cmdutil.AddJSON(c, &o.JSON, Status{})
	return c
}

func status(ctx context.Context, o *Options) error {
	inUse, err := o.F.Name()
	if err != nil {
		return err
	}
	config, err := o.F.Profiles().Load()
	if err != nil {
		return err
	}
	names := config.Names()
	s := Status{Environment: []string{}, Profiles: make([]Hub, len(names))}
	for _, name := range []string{cmdutil.EnvProfile, cmdutil.EnvHub, cmdutil.EnvAPIKey} {
		if o.F.Getenv(name) != "" {
			s.Environment = append(s.Environment, name)
		}
	}
	// All at once, so that a hub or an engine that hangs costs its time only once.
	var asked sync.WaitGroup
	asked.Go(func() { s.Engine = engine(ctx, o) })
	for i, name := range names {
		asked.Go(func() {
			s.Profiles[i] = look(ctx, o, name, config.Profiles[name])
			s.Profiles[i].InUse = name == inUse
		})
	}
	asked.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if o.JSON {
		return cmdutil.PrintJSON(o.F.IO, s)
	}
	return show(o, s)
}
