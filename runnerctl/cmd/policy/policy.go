// Package policy is `runnerctl policy`.
package policy

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/runnerctl/policyfile"
	"github.com/runnerhub/runnerhub/topology/policy"
)

// Options is what the command line says.
type Options struct {
	F       *cmdutil.Factory
	JSON    bool
	Changes []string // of set
	File    string   // of check; "-" is standard input
}

// New makes the command; run replaces the bodies of its subcommands in tests.
func New(f *cmdutil.Factory, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{F: f}
	body := func(own func(context.Context, *Options) error) func(context.Context, *Options) error {
		if run != nil {
			return run
		}
		return own
	}
	c := &cobra.Command{
		Use:   "policy",
		Short: "Say what jobs may do on this machine",
		Long: "Say what jobs may do on this machine: which images run, when, and what of the machine they may reach. The runner\n" +
			"refuses a job that the policy does not allow, and names the rule. Changes count within seconds, without a restart;\n" +
			"jobs that run already go on. Without a policy any image may run, in containers that reach nothing of the machine.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newShow(o, body(show)), newSet(o, body(set)), newEdit(o, body(edit)), newCheck(o, body(check)))
	return c
}

func file(o *Options) *policyfile.File { return policyfile.In(o.F.ConfigDir) }

// invalid gives a mistake in a policy the exit code of a wrong argument.
func invalid(err error, hint string) error {
	e, ok := errors.AsType[*policy.Error](err)
	if !ok {
		return err
	}
	return &mcp.Error{Code: mcp.CodeInvalidArgument, Message: e.Error(), Hint: hint}
}
