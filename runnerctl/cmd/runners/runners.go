// Package runners is `runnerctl runners`.
package runners

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
)

// Options is what the command line says.
type Options struct {
	F         *cmdutil.Factory
	Workspace string
	Revoked   bool
	JSON      bool
	Revoke    string // id or label, of `runners revoke`
}

// New makes the command; run replaces its body, and that of its subcommand, in tests.
func New(f *cmdutil.Factory, run func(context.Context, *Options) error) *cobra.Command {
	o, onRevoke := &Options{F: f}, run
	if run == nil {
		run, onRevoke = list, revoke
	}
	c := &cobra.Command{
		Use:   "runners",
		Short: "List your runners, or a workspace's",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	c.PersistentFlags().StringVar(&o.Workspace, "workspace", "", "slug of the workspace (default: your own runners)")
	c.Flags().BoolVar(&o.Revoked, "include-revoked", false, "those that were unpaired, too")
	cmdutil.AddJSON(c, &o.JSON, mcp.Runner{})
	c.AddCommand(newRevoke(o, onRevoke))
	return c
}

func newRevoke(o *Options, run func(context.Context, *Options) error) *cobra.Command {
	c := &cobra.Command{
		Use:   "revoke RUNNER",
		Short: "End a runner's pairing, by its id or label",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.Revoke = args[0]
			return run(c.Context(), o)
		},
	}
	cmdutil.AddJSON(c, &o.JSON, mcp.Runner{})
	return c
}

func list(ctx context.Context, o *Options) error {
	all := []mcp.Runner{}
	err := o.F.AsPerson(func(client *mcpclient.Client) error {
		return cmdutil.Each(func(cursor string) (string, error) {
			page, err := page(ctx, client, o, cursor)
			all = append(all, page.Runners...)
			return page.NextCursor, err
		})
	})
	if err != nil {
		return err
	}
	if o.JSON {
		return cmdutil.PrintJSON(o.F.IO, all)
	}
	if len(all) == 0 {
		o.F.IO.Note("no runners; pair a machine with `runnerctl pair`\n")
	}
	t := cmdutil.NewTable(o.F.IO, "label", "status", "slots", "platform", "seen", "version", "id")
	for _, r := range all {
		t.Row(r.Label, r.Status, fmt.Sprintf("%d/%d", r.BusySlots, r.Slots), strings.Trim(r.OS+"/"+r.Arch, "/"),
			cmdutil.Ago(o.F.Now(), r.LastSeenAt), r.Version, r.ID)
	}
	return t.Print()
}

func page(ctx context.Context, client *mcpclient.Client, o *Options, cursor string) (mcp.ListRunnersResult, error) {
	args := mcp.ListRunnersArgs{IncludeRevoked: o.Revoked, Limit: 100, Cursor: cursor}
	if o.Workspace != "" {
		return client.ListWorkspaceRunners(ctx, mcp.ListWorkspaceRunnersArgs{Workspace: o.Workspace, ListRunnersArgs: args})
	}
	return client.ListRunners(ctx, args)
}

func revoke(ctx context.Context, o *Options) error {
	return o.F.AsPerson(func(client *mcpclient.Client) error {
		args := mcp.RevokeRunnerArgs{RunnerID: o.Revoke}
		var res mcp.RevokeRunnerResult
		var err error
		if o.Workspace != "" {
			res, err = client.RevokeWorkspaceRunner(ctx, mcp.RevokeWorkspaceRunnerArgs{Workspace: o.Workspace, RevokeRunnerArgs: args})
		} else {
			res, err = client.RevokeRunner(ctx, args)
		}
		if err != nil {
			return err
		}
		if o.JSON {
			return cmdutil.PrintJSON(o.F.IO, res.Runner)
		}
		return o.F.IO.Say("%s (%s) is unpaired; its token is dead\n", res.Runner.Label, res.Runner.ID)
	})
}
