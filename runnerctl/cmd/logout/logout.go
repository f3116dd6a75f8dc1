// Package logout is `runnerctl logout`.
package logout

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/runnerctl/profile"
)

// Options is what the command line says.
type Options struct{ F *cmdutil.Factory }

// New makes the command; run replaces its body in tests.
func New(f *cmdutil.Factory, run func(context.Context, *Options) error) *cobra.Command {
	if run == nil {
		run = logout
	}
	o := &Options{F: f}
	return &cobra.Command{
		Use:   "logout",
		Short: "Forget the API key; a pairing stays",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
}

func logout(_ context.Context, o *Options) error {
	name, p, err := o.F.Profile()
	if err != nil {
		return err
	}
	if !p.SignedIn() {
		return &mcp.Error{Code: mcp.CodeConflict, Message: "not signed in (profile " + name + ")", Hint: "`runnerctl status` shows what is"}
	}
	err = o.F.Profiles().Update(name, func(now *profile.Profile) error {
		if err := o.F.Drop(cmdutil.APIKey, name, *now); err != nil {
			return err
		}
		now.Login = ""
		return nil
	})
	if err != nil {
		return err
	}
	if o.F.Getenv(cmdutil.EnvAPIKey) != "" {
		o.F.IO.Note("%s is set and stays in use\n", cmdutil.EnvAPIKey)
	}
	return o.F.IO.Say("Signed out of %s. The key stays valid until an operator revokes it.\n", p.Hub)
}
