// Package server wires a hub together: its configuration, its commands and Run, which serves until it is
// told to stop. Tests boot it on port 0.
package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/mcp"
)

// Main runs the program and returns its exit code.
func Main() int {
	return Execute(context.Background(), os.Args[1:], os.Stdout, os.Stderr, osEnviron)
}

// Execute runs one command line. environ looks environment variables up.
func Execute(ctx context.Context, args []string, stdout, stderr io.Writer, environ func(string) (string, bool)) int {
	root := newRoot(environ)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return mcp.ExitOK
	}
	return report(stderr, err)
}

// report says what went wrong and what to do, and picks the exit code.
func report(w io.Writer, err error) int {
	e, known := errors.AsType[*hub.Error](err)
	if !known {
		fmt.Fprintf(w, "runnerhub: %v\n", err)
		if _, ok := errors.AsType[usageError](err); ok {
			return mcp.ExitUsage
		}
		return mcp.ExitFailure
	}
	fmt.Fprintf(w, "runnerhub: %s\n", e.Message)
	if e.Err != nil {
		fmt.Fprintf(w, "  because: %v\n", e.Err)
	}
	if e.Hint != "" {
		fmt.Fprintf(w, "  hint: %s\n", e.Hint)
	}
	return api.Fault(e).Code.Info().Exit
}

// usageError marks an error of the command line or the configuration.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func newRoot(environ func(string) (string, bool)) *cobra.Command {
	root := &cobra.Command{
		Use:   "runnerhub",
		Short: "The control plane of Runner Hub: takes jobs, hands them to paired machines, keeps their logs and results",
		Long: "runnerhub takes jobs from people and AI agents over MCP and HTTP, hands them to machines that were paired with\n" +
			"`runnerctl pair`, and keeps their logs and results. It never connects to a machine and never runs a job.\n\n" +
			"Every flag can be given as an environment variable RUNNERHUB_<FLAG> or as such a line in a file (--config).",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       mcp.Version,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(newServe(environ), newMigrate(environ), newAdmin(environ), newVersion())
	usageErrors(root)
	return root
}

// usageErrors marks wrong arguments and missing flags as errors of the command line, in every command.
func usageErrors(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return usageError{fmt.Errorf("%w; see `%s --help`", err, c.CommandPath())}
			}
			if err := c.ValidateRequiredFlags(); err != nil {
				return usageError{fmt.Errorf("%w; see `%s --help`", err, c.CommandPath())}
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		usageErrors(sub)
	}
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and the revision of the runner protocol",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(c.OutOrStdout(), "runnerhub %s, runner protocol %d\n", mcp.Version, mcp.Protocol)
			return err
		},
	}
}

// configured completes the settings from the environment and the file, and checks them.
func configured(c *cobra.Command, s *Settings, environ func(string) (string, bool)) error {
	if err := fill(c.Flags(), environ); err != nil {
		return usageError{err}
	}
	if err := s.check(); err != nil {
		return usageError{err}
	}
	return nil
}
