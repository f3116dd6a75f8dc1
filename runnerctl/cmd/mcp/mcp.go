// Package mcp is `runnerctl mcp`.
package mcp

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/mcp/mcpclient"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/runnerctl/mcpstdio"
)

// Options is what the command line says.
type Options struct {
	F        *cmdutil.Factory
	Toolsets string
	ReadOnly bool

	// Of install and uninstall.
	Client  string
	Name    string // of the server, in the client's configuration
	Project bool
	Yes     bool
	DryRun  bool
}

// New makes the command; run replaces the bodies of it and its subcommands in tests.
func New(f *cmdutil.Factory, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{F: f}
	body := func(own func(context.Context, *Options) error) func(context.Context, *Options) error {
		if run != nil {
			return run
		}
		return own
	}
	c := &cobra.Command{
		Use:   "mcp",
		Short: "Serve the hub's tools to an AI client, over standard input and output",
		Long: "Serve the hub's tools to an AI client that starts this command: an MCP server on standard input and output, which\n" +
			"passes everything on to the hub with the key that `runnerctl login` has kept. So no client's configuration holds a\n" +
			"key. It outlives a restart of the hub, and takes up a new key when the old one is refused.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return body(serve)(c.Context(), o) },
	}
	viewFlags(c, o)
	c.AddCommand(newInstall(o, body(install)), newUninstall(o, body(uninstall)))
	return c
}

// viewFlags narrow the tools, of this server or of the one that install writes down.
func viewFlags(c *cobra.Command, o *Options) {
	c.Flags().StringVar(&o.Toolsets, "toolsets", "", "only these tools, with commas between them: jobs, artifacts, runners, admin (default: all)")
	c.Flags().BoolVar(&o.ReadOnly, "read-only", false, "only tools that change nothing")
	before := c.PreRunE
	c.PreRunE = func(c *cobra.Command, args []string) error {
		if c.Flags().Changed("toolsets") && strings.TrimSpace(o.Toolsets) == "" { // of an unset variable, most likely: it must not mean all
			return cmdutil.Usagef("--toolsets names none: give some of jobs, artifacts, runners, admin, or leave it out")
		}
		if before != nil {
			return before(c, args)
		}
		return nil
	}
}

func serve(ctx context.Context, o *Options) error {
	if o.F.IO.InTTY {
		o.F.IO.Note("This speaks MCP on standard input and output, for an AI client that starts it: see `runnerctl mcp install --help`. End it with Ctrl-D.\n")
	}
	return mcpstdio.Serve(ctx, mcpstdio.Config{
		In: o.F.IO.In, Out: o.F.IO.Out, Open: o.F.Person, Note: o.F.IO.Note,
		View: mcpclient.View{Toolsets: o.Toolsets, ReadOnly: o.ReadOnly},
	})
}
