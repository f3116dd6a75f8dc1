// Package logout is `runnerctl logout`.
package logout

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/runnerctl/profile"
)

// Options is what the command line says.
type Options struct{ F *cmdutil.Factory }

// New makes the command; run replaces its body in tests.
func New(f *cmdutil.Factory, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{F: f}
	return &cobra.Command{
		Use:   "logout",
		Short: "Forget the API key; a pairing stays",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if run != nil {
				return run(c.Context(), o)
			}
			return logout(o)
		},
	}
}

func logout(o *Options) error {
	name, p, err := o.F.Profile()
	if err != nil {
		return err
	}
	if p.Login == "" {
		return &mcp.Error{Code: mcp.CodeConflict, Message: "not signed in (profile " + name + ")", Hint: "`runnerctl status` shows what is"}
	}
	if err := o.F.DropAPIKey(name, o.F.Storage(p.Storage)); err != nil {
		return err
	}
	err = o.F.Profiles().Update(name, func(p *profile.Profile) {
		p.Login = ""
		if p.RunnerID == "" { // nothing is left that this profile is for
			*p = profile.Profile{}
		}
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.F.IO.Out, "Signed out of %s. The key stays valid until an operator revokes it.\n", p.Hub)
	return err
}
