package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/hub/identity"
)

// newAdmin holds what an operator does on the hub's own machine, with the store at hand and no token. It works
// beside a hub that is serving.
func newAdmin(environ func(string) (string, bool)) *cobra.Command {
	admin := &cobra.Command{
		Use:   "admin",
		Short: "Manage users, workspaces, members and API keys, on the hub's own machine",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	admin.AddCommand(
		newCreateUser(environ), newCreateWorkspace(environ), newAddMember(environ), newCreateKey(environ), newRevokeKey(environ),
	)
	return admin
}

// withAccounts opens the store for one command.
func withAccounts(c *cobra.Command, s *Settings, environ func(string) (string, bool), f func(context.Context, *identity.Service) error) error {
	if err := configured(c, s, environ); err != nil {
		return err
	}
	log, err := newLogger(c.ErrOrStderr(), *s)
	if err != nil {
		return usageError{err}
	}
	if err := existing(*s); err != nil {
		return err
	}
	store, err := openStore(c.Context(), *s, asOperator, log)
	if err != nil {
		return err
	}
	err = f(c.Context(), identity.New(store, func() time.Time { return time.Now().UTC() }))
	if closeErr := store.Close(); err == nil {
		err = closeErr
	}
	return err
}

// existing refuses to make a store: an operator's command on a mistyped --data would seem to work, and a store with users but
// without its first admin would never get one.
func existing(s Settings) error {
	path, embedded := sqlitePath(s.Database)
	if !embedded {
		return nil
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return hub.Errorf(hub.NotFound, "there is no store at %s", path).
			WithHint("give the --data or --database that `runnerhub serve` has; its first start makes the store")
	}
	return nil
}

func newCreateUser(environ func(string) (string, bool)) *cobra.Command {
	s, admin := Defaults(), false
	c := &cobra.Command{
		Use:   "create-user LOGIN",
		Short: "Add a person; make a key for them with create-key",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return withAccounts(c, &s, environ, func(ctx context.Context, ids *identity.Service) error {
				u, err := ids.CreateUser(ctx, args[0], admin)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(c.OutOrStdout(), "user %s created (%s)\n", u.Login, u.ID)
				return err
			})
		},
	}
	s.storeFlags(c.Flags())
	c.Flags().BoolVar(&admin, "admin", false, "an admin of the whole hub")
	return c
}

func newCreateWorkspace(environ func(string) (string, bool)) *cobra.Command {
	s := Defaults()
	c := &cobra.Command{
		Use:   "create-workspace SLUG",
		Short: "Add a workspace; give it members with add-member",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return withAccounts(c, &s, environ, func(ctx context.Context, ids *identity.Service) error {
				w, err := ids.CreateWorkspace(ctx, args[0])
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(c.OutOrStdout(), "workspace %s created (%s)\n", w.Slug, w.ID)
				return err
			})
		},
	}
	s.storeFlags(c.Flags())
	return c
}

func newAddMember(environ func(string) (string, bool)) *cobra.Command {
	s := Defaults()
	var workspace, login, role string
	c := &cobra.Command{
		Use:   "add-member --workspace SLUG --user LOGIN [--role member|admin]",
		Short: "Put a person into a workspace, or change their role in it",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return withAccounts(c, &s, environ, func(ctx context.Context, ids *identity.Service) error {
				if err := ids.AddMember(ctx, workspace, login, hub.Role(role)); err != nil {
					return err
				}
				_, err := fmt.Fprintf(c.OutOrStdout(), "%s is %s of %s\n", login, role, workspace)
				return err
			})
		},
	}
	s.storeFlags(c.Flags())
	c.Flags().StringVar(&workspace, "workspace", "", "slug of the workspace")
	c.Flags().StringVar(&login, "user", "", "login of the person")
	c.Flags().StringVar(&role, "role", string(hub.RoleMember), "member or admin")
	required(c, "workspace", "user")
	return c
}

func newCreateKey(environ func(string) (string, bool)) *cobra.Command {
	s := Defaults()
	var login, name, toolsets string
	var expires time.Duration
	var readOnly bool
	c := &cobra.Command{
		Use:   "create-key --user LOGIN",
		Short: "Make an API key for a person or their agent, and print it once",
		Long:  "create-key prints a new API key on standard output, and nothing else. The hub keeps only its digest, so it cannot be shown again.",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return withAccounts(c, &s, environ, func(ctx context.Context, ids *identity.Service) error {
				if c.Flags().Changed("toolsets") { // as they are compared: a misspelled one would lock its key out
					sets, err := api.ParseToolsets(toolsets)
					if err != nil {
						return err
					}
					toolsets = api.JoinToolsets(sets)
				}
				key, row, err := ids.CreateKey(ctx, login, name, expires, hub.KeyScope{ReadOnly: readOnly, Toolsets: toolsets})
				if err != nil {
					return err
				}
				fmt.Fprintf(c.ErrOrStderr(), "key %s for %s; it is not shown again:\n", row.ID, login)
				_, err = fmt.Fprintln(c.OutOrStdout(), key)
				return err
			})
		},
	}
	s.storeFlags(c.Flags())
	c.Flags().StringVar(&login, "user", "", "login of the person")
	c.Flags().StringVar(&name, "name", "cli", "what the key is for; shown by whoami")
	c.Flags().DurationVar(&expires, "expires", 0, "how long it is valid, such as 720h (default: until revoked)")
	c.Flags().BoolVar(&readOnly, "read-only", false, "the key changes nothing: it sees jobs, logs, files and machines")
	c.Flags().StringVar(&toolsets, "toolsets", "", "what the key is for, some of jobs,artifacts,runners,admin (default: all)")
	required(c, "user")
	return c
}

func newRevokeKey(environ func(string) (string, bool)) *cobra.Command {
	s := Defaults()
	c := &cobra.Command{
		Use:   "revoke-key KEY_ID",
		Short: "End an API key by its id (key_…); it is dead at the next call",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return withAccounts(c, &s, environ, func(ctx context.Context, ids *identity.Service) error {
				if err := ids.RevokeKey(ctx, args[0]); err != nil {
					return err
				}
				_, err := fmt.Fprintf(c.OutOrStdout(), "key %s revoked\n", args[0])
				return err
			})
		},
	}
	s.storeFlags(c.Flags())
	return c
}

// required marks flags; cobra then names the missing ones.
func required(c *cobra.Command, flags ...string) {
	for _, f := range flags {
		if err := c.MarkFlagRequired(f); err != nil {
			panic(err) // a flag that does not exist: a fault of this file
		}
	}
}
