// Package unpair is `runnerctl unpair`.
package unpair

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/runnerctl/profile"
)

// Options is what the command line says.
type Options struct {
	F     *cmdutil.Factory
	Local bool
}

// New makes the command; run replaces its body in tests.
func New(f *cmdutil.Factory, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{F: f}
	c := &cobra.Command{
		Use:   "unpair",
		Short: "End this machine's pairing, with its own token",
		Long: "End this machine's pairing, with its own token, and forget the token. Jobs that it runs are lost to it and run elsewhere\n" +
			"where they can. Stop `runnerctl run` first to let them finish.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if run != nil {
				return run(c.Context(), o)
			}
			return unpair(c.Context(), o)
		},
	}
	c.Flags().BoolVar(&o.Local, "local", false, "only forget the token here, without asking the hub")
	return c
}

func unpair(ctx context.Context, o *Options) error {
	name, p, err := o.F.Profile()
	if err != nil {
		return err
	}
	if p.RunnerID == "" {
		return &mcp.Error{Code: mcp.CodeConflict, Message: "this machine is not paired (profile " + name + ")", Hint: "`runnerctl status` shows what is"}
	}
	if !o.Local {
		if err := tellHub(ctx, o, name, p); err != nil {
			return err
		}
	}
	if err := o.F.DropRunnerToken(name, o.F.Storage(p.Storage)); err != nil {
		return err
	}
	err = o.F.Profiles().Update(name, func(p *profile.Profile) {
		p.RunnerID, p.Label, p.Owner = "", "", ""
		if p.Login == "" { // nothing is left that this profile is for
			*p = profile.Profile{}
		}
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.F.IO.Out, "Unpaired %s from %s.\n", p.Label, p.Hub)
	return err
}

// tellHub ends the pairing there. A hub that no longer knows the token has ended it already.
func tellHub(ctx context.Context, o *Options, name string, p profile.Profile) error {
	token, err := o.F.RunnerToken(name, p)
	if e, ok := errors.AsType[*mcp.Error](err); ok && e.Code == mcp.CodeUnauthenticated {
		fmt.Fprintf(o.F.IO.Err, "warning: %s; the hub could not be told, revoke the runner there\n", e.Message)
		return nil
	}
	if err != nil {
		return err
	}
	c, err := o.F.Client(p.Hub, token)
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // nothing is under way any more
	_, err = c.UnpairRunner(ctx)
	if e, ok := errors.AsType[*mcp.Error](err); ok {
		switch e.Code {
		case mcp.CodeUnauthenticated:
			return nil
		case mcp.CodeUnavailable, mcp.CodeDraining:
			e.Hint = "try again when the hub is up, or forget the token here alone with --local"
		}
	}
	return err
}
