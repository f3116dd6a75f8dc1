// Package status is `runnerctl status`.
package status

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/runnerctl/keyring"
	"github.com/runnerhub/runnerhub/runnerctl/profile"
)

// askWithin bounds each question, so that an unreachable hub does not hide the rest.
const askWithin = 5 * time.Second

// Options is what the command line says.
type Options struct {
	F    *cmdutil.Factory
	JSON bool
}

// Status is what the command prints.
type Status struct {
	Engine   Engine `json:"engine"`
	Profiles []Hub  `json:"profiles"`
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
	Profile    string `json:"profile"`
	Hub        string `json:"hub"`
	Reachable  bool   `json:"reachable"`
	Login      string `json:"login,omitempty"`
	SignedIn   bool   `json:"signed_in"`
	RunnerID   string `json:"runner_id,omitempty"`
	Label      string `json:"label,omitempty"`
	Owner      string `json:"owner,omitempty"`
	Paired     bool   `json:"paired"`
	Running    string `json:"running,omitempty"` // the runner's status at the hub, where the signed-in person may see it
	Storage    string `json:"storage"`
	StoredIn   string `json:"stored_in"`
	Error      string `json:"error,omitempty"`
	TokenError string `json:"token_error,omitempty"`
}

// New makes the command; run replaces its body in tests.
func New(f *cmdutil.Factory, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{F: f}
	c := &cobra.Command{
		Use:   "status",
		Short: "Show the hubs this machine knows, its pairings, where tokens are kept, and its container engine",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if run != nil {
				return run(c.Context(), o)
			}
			return status(c.Context(), o)
		},
	}
	cmdutil.AddJSON(c, &o.JSON, Status{})
	return c
}

func status(ctx context.Context, o *Options) error {
	config, err := o.F.Profiles().Load()
	if err != nil {
		return err
	}
	s := Status{Engine: engine(ctx, o), Profiles: []Hub{}}
	for _, name := range config.Names() {
		s.Profiles = append(s.Profiles, look(ctx, o, name, config.Profiles[name]))
	}
	if o.JSON {
		return cmdutil.PrintJSON(o.F.IO, s)
	}
	return show(o, s)
}

func engine(ctx context.Context, o *Options) Engine {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	none := Engine{Capabilities: []string{}}
	x, err := o.F.NewExecutor(ctx)
	if err != nil {
		none.Error = err.Error()
		return none
	}
	defer x.Close(ctx) //nolint:errcheck // it was only asked
	info, err := x.Probe(ctx)
	if err != nil {
		none.Error = err.Error()
		return none
	}
	return Engine{Name: info.Engine, Endpoint: info.Endpoint, Capabilities: info.Capabilities}
}

func look(ctx context.Context, o *Options, name string, p profile.Profile) Hub {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	h := Hub{
		Profile: name, Hub: p.Hub, Login: p.Login, SignedIn: p.Login != "", RunnerID: p.RunnerID, Label: p.Label,
		Owner: p.Owner, Paired: p.RunnerID != "", Storage: string(p.Storage), StoredIn: o.F.Storage(p.Storage).Where(),
	}
	if h.Paired {
		if _, err := o.F.RunnerToken(name, p); err != nil {
			h.TokenError = message(err)
		}
	}
	c, err := o.F.Client(p.Hub, "")
	if err == nil {
		err = c.Health(ctx)
		_ = c.Close() // it was only asked
	}
	h.Reachable = err == nil
	if err != nil {
		h.Error = message(err)
		return h
	}
	if !h.SignedIn {
		return h
	}
	if err := askHub(ctx, o, name, p, &h); err != nil {
		h.Error = message(err)
	}
	return h
}

// askHub asks as the signed-in person how this machine's runner is doing.
func askHub(ctx context.Context, o *Options, name string, p profile.Profile, h *Hub) error {
	key, err := o.F.APIKey(name, p)
	if err != nil {
		h.SignedIn = false
		return err
	}
	c, err := o.F.Client(p.Hub, key)
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // it was only asked
	args := mcp.ListRunnersArgs{Limit: 100, IncludeRevoked: true}
	for {
		page, err := c.ListRunners(ctx, args)
		if e, ok := errors.AsType[*mcp.Error](err); ok && e.Code == mcp.CodeUnauthenticated {
			h.SignedIn = false
		}
		if err != nil {
			return err
		}
		for _, r := range page.Runners {
			if r.ID == p.RunnerID {
				h.Running = r.Status
				return nil
			}
		}
		if page.NextCursor == "" {
			return nil
		}
		args.Cursor = page.NextCursor
	}
}

func show(o *Options, s Status) error {
	w := o.F.IO.Out
	if s.Engine.Error != "" {
		fmt.Fprintf(w, "engine    none: %s\n", cmdutil.Printable(s.Engine.Error))
	} else {
		fmt.Fprintf(w, "engine    %s at %s\n", cmdutil.Printable(s.Engine.Name), cmdutil.Printable(s.Engine.Endpoint))
	}
	if len(s.Profiles) == 0 {
		fmt.Fprintln(w, "profiles  none; start with `runnerctl pair --hub URL` or `runnerctl login --hub URL`")
	}
	for _, h := range s.Profiles {
		fmt.Fprintf(w, "\nprofile   %s\nhub       %s (%s)\n", h.Profile, h.Hub, either(h.Reachable, "reachable", "not reachable"))
		if h.Paired {
			fmt.Fprintf(w, "runner    %s (%s) for %s%s\n", h.Label, h.RunnerID, h.Owner, either(h.Running != "", ", "+h.Running, ""))
		} else {
			fmt.Fprintln(w, "runner    not paired")
		}
		fmt.Fprintf(w, "signed in %s\n", either(h.SignedIn, h.Login, "no"))
		fmt.Fprintf(w, "storage   %s\n", either(h.Storage == string(keyring.File), "plain file "+h.StoredIn, h.StoredIn))
		for _, problem := range []string{h.Error, h.TokenError} {
			if problem != "" {
				fmt.Fprintf(w, "problem   %s\n", cmdutil.Printable(problem))
			}
		}
	}
	return nil
}

func either(b bool, yes, no string) string {
	if b {
		return yes
	}
	return no
}

func message(err error) string {
	if e, ok := errors.AsType[*mcp.Error](err); ok {
		return e.Message
	}
	return err.Error()
}
