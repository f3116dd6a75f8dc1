// Package runners is `runnerctl runners`.
package runners

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/mcp"
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

// New makes the command; run replaces its body in tests.
func New(f *cmdutil.Factory, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{F: f}
	c := &cobra.Command{
		Use:   "runners",
		Short: "List your runners, or a workspace's",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if run != nil {
				return run(c.Context(), o)
			}
			return list(c.Context(), o)
		},
	}
	c.PersistentFlags().StringVar(&o.Workspace, "workspace", "", "slug of the workspace (default: your own runners)")
	c.Flags().BoolVar(&o.Revoked, "include-revoked", false, "those that were unpaired, too")
	cmdutil.AddJSON(c, &o.JSON, mcp.Runner{})
	c.AddCommand(newRevoke(o, run))
	return c
}

func newRevoke(o *Options, run func(context.Context, *Options) error) *cobra.Command {
	c := &cobra.Command{
		Use:   "revoke RUNNER",
		Short: "End a runner's pairing, by its id or label",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.Revoke = args[0]
			if run != nil {
				return run(c.Context(), o)
			}
			return revoke(c.Context(), o)
		},
	}
	cmdutil.AddJSON(c, &o.JSON, mcp.Runner{})
	return c
}

func list(ctx context.Context, o *Options) error {
	client, err := o.F.People()
	if err != nil {
		return err
	}
	defer client.Close() //nolint:errcheck // nothing is under way any more
	args := mcp.ListRunnersArgs{IncludeRevoked: o.Revoked, Limit: 100}
	all := []mcp.Runner{}
	for {
		var page mcp.ListRunnersResult
		if o.Workspace != "" {
			page, err = client.ListWorkspaceRunners(ctx, mcp.ListWorkspaceRunnersArgs{Workspace: o.Workspace, ListRunnersArgs: args})
		} else {
			page, err = client.ListRunners(ctx, args)
		}
		if err != nil {
			return err
		}
		all = append(all, page.Runners...)
		if page.NextCursor == "" {
			break
		}
		args.Cursor = page.NextCursor
	}
	if o.JSON {
		return cmdutil.PrintJSON(o.F.IO, all)
	}
	if len(all) == 0 {
		fmt.Fprintln(o.F.IO.Err, "no runners; pair a machine with `runnerctl pair`")
	}
	t := cmdutil.NewTable(o.F.IO, "label", "status", "slots", "platform", "seen", "version", "id")
	for _, r := range all {
		t.Row(r.Label, r.Status, fmt.Sprintf("%d/%d", r.BusySlots, r.Slots), strings.Trim(r.OS+"/"+r.Arch, "/"),
			cmdutil.Ago(o.F.Now(), r.LastSeenAt), r.Version, r.ID)
	}
	return t.Print()
}

func revoke(ctx context.Context, o *Options) error {
	client, err := o.F.People()
	if err != nil {
		return err
	}
	defer client.Close() //nolint:errcheck // nothing is under way any more
	args := mcp.RevokeRunnerArgs{RunnerID: o.Revoke}
	var res mcp.RevokeRunnerResult
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
	_, err = fmt.Fprintf(o.F.IO.Out, "%s (%s) is unpaired; its token is dead\n", res.Runner.Label, res.Runner.ID)
	return err
}
