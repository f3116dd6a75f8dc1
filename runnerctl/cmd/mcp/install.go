package mcp

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/runnerctl/aiclient"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/runnerctl/profile"
)

func newInstall(o *Options, run func(context.Context, *Options) error) *cobra.Command {
	c := clientCommand(o, run)
	viewFlags(c, o)
	c.Use = "install CLIENT"
	c.Short = "Let an AI client start `runnerctl mcp`"
	c.Long = "Let an AI client start `runnerctl mcp`: put the hub as a server into the client's configuration. The change is shown\n" +
		"first, and everything else in the file stays as it is. No key is written. CLIENT is one of " + strings.Join(aiclient.Names(), ", ") + "."
	return c
}

func newUninstall(o *Options, run func(context.Context, *Options) error) *cobra.Command {
	c := clientCommand(o, run)
	c.Use = "uninstall CLIENT"
	c.Short = "Take back what `mcp install` has put into an AI client's configuration"
	c.Long = "Take back what `runnerctl mcp install` has put into an AI client's configuration. The change is shown first, and\n" +
		"everything else in the file stays as it is. CLIENT is one of " + strings.Join(aiclient.Names(), ", ") + "."
	return c
}

// serverName is what every client's format takes as a key without quotes.
var serverName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func clientCommand(o *Options, run func(context.Context, *Options) error) *cobra.Command {
	c := &cobra.Command{
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cobra.FixedCompletions(aiclient.Names(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(c *cobra.Command, args []string) error {
			o.Client = args[0]
			known, ok := aiclient.Find(o.Client)
			_, projects := known.ProjectFile("")
			switch {
			case !ok:
				return cmdutil.Usagef("%q is no client that is known here; there are %s", o.Client, strings.Join(aiclient.Names(), ", "))
			case !serverName.MatchString(o.Name):
				return cmdutil.Usagef("--name %q: use up to 64 letters, digits, hyphens and underscores", o.Name)
			case o.Project && !projects:
				return cmdutil.Usagef("--project: %s has no configuration of projects", known.Title)
			}
			return run(c.Context(), o)
		},
	}
	c.Flags().StringVar(&o.Name, "name", "runnerhub", "name of the server in the client's configuration")
	c.Flags().BoolVar(&o.Project, "project", false, "use the configuration of the project in this folder instead of yours")
	c.Flags().BoolVarP(&o.Yes, "yes", "y", false, "do not ask")
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "only show the change")
	return c
}

func install(ctx context.Context, o *Options) error {
	client, _ := aiclient.Find(o.Client)
	err := change(ctx, o, client, client.Add, "has it already")
	if err != nil || o.DryRun {
		return err
	}
	name, p, err := o.F.Profile()
	if err == nil {
		_, err = o.F.Key(name, p) // a key in this shell's environment is not in the client's
	}
	if err != nil {
		o.F.IO.Note("warning: %s; sign in with `runnerctl login` before the client uses it\n", cmdutil.Message(err))
	}
	return nil
}

func uninstall(ctx context.Context, o *Options) error {
	client, _ := aiclient.Find(o.Client)
	return change(ctx, o, client, client.Remove, "has no such server")
}

// server is this program, for the profile in use.
func server(o *Options) (aiclient.Server, error) {
	name, err := o.F.Name()
	if err != nil {
		return aiclient.Server{}, err
	}
	s := aiclient.Server{Args: []string{"mcp"}}
	if name != profile.DefaultName {
		s.Args = append(s.Args, "--profile", name)
	}
	if o.Toolsets != "" {
		s.Args = append(s.Args, "--toolsets", o.Toolsets)
	}
	if o.ReadOnly {
		s.Args = append(s.Args, "--read-only")
	}
	s.Command, err = self()
	return s, err
}

// self is this program's path. The one that the shell finds is better where it is the same file: a package manager's
// link outlives an update, and the folder of a version does not.
func self() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("where is this program? %w", err)
	}
	if found, err := exec.LookPath(filepath.Base(exe)); err == nil && filepath.IsAbs(found) && sameFile(exe, found) {
		return found, nil
	}
	return exe, nil
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(x, y)
}
