// Package unpair is `runnerctl unpair`.
package unpair

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
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
	if run == nil {
		run = unpair
	}
	o := &Options{F: f}
	c := &cobra.Command{
		Use:   "unpair",
		Short: "End this machine's pairing, with its own token",
		Long: "End this machine's pairing, with its own token, and forget the token. Jobs that it runs are lost to it and run elsewhere\n" +
			"where they can. Stop `runnerctl run` first to let them finish.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	c.Flags().BoolVar(&o.Local, "local", false, "only forget the token here, without asking the hub")
	return c
}

func unpair(ctx context.Context, o *Options) error {
	name, p, err := o.F.Profile()
	if err != nil {
		return err
	}
	if !p.Paired() {
		return &mcp.Error{Code: mcp.CodeConflict, Message: "this machine is not paired (profile " + name + ")", Hint: "`runnerctl status` shows what is"}
	}
	if !o.Local {
		if err := tellHub(ctx, o, name, p); err != nil {
			return err
		}
	}
	err = o.F.Profiles().Update(name, func(now *profile.Profile) error {
		if err := o.F.Drop(cmdutil.RunnerToken, name, *now); err != nil {
			return err
		}
		now.RunnerID, now.Label, now.Owner = "", "", ""
		return nil
	})
	if err != nil {
		return err
	}
	if o.Local {
		o.F.IO.Note("the hub was not asked: the runner is still on its roster until `runnerctl runners revoke %s`\n", p.RunnerID)
	}
	return o.F.IO.Say("Unpaired %s from %s.\n", p.Label, p.Hub)
}

// tellHub ends the pairing there. A hub that no longer knows the token has ended it already.
func tellHub(ctx context.Context, o *Options, name string, p profile.Profile) error {
	token, err := o.F.Token(name, p)
	if codeOf(err) == mcp.CodeUnauthenticated {
		o.F.IO.Note("warning: %s; the hub could not be told. End the pairing there with `runnerctl runners revoke %s`\n", cmdutil.Message(err), p.RunnerID)
		return nil
	}
	if err != nil {
		return err
	}
	err = o.F.With(p.Hub, token, func(c *mcpclient.Client) error {
		_, err := c.UnpairRunner(ctx)
		return err
	})
	switch codeOf(err) {
	case mcp.CodeUnauthenticated:
		return nil
	case mcp.CodeUnavailable, mcp.CodeDraining:
		e, _ := errors.AsType[*mcp.Error](err)
		e.Hint = "try again when the hub is up, or forget the token here alone with --local"
		return e
	}
	return err
}

func codeOf(err error) mcp.Code {
	if e, ok := errors.AsType[*mcp.Error](err); ok {
		return e.Code
	}
	return ""
}
