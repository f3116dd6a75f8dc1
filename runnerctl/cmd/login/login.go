// Package login is `runnerctl login`.
package login

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/mcp/mcpclient"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/runnerctl/iostreams"
	"github.com/runnerhub/runnerhub/runnerctl/profile"
)

// Options is what the command line says.
type Options struct {
	F        *cmdutil.Factory
	Hub      string
	KeyStdin bool
	Insecure bool
}

// New makes the command; run replaces its body in tests.
func New(f *cmdutil.Factory, run func(context.Context, *Options) error) *cobra.Command {
	if run == nil {
		run = login
	}
	o := &Options{F: f}
	c := &cobra.Command{
		Use:   "login --hub URL",
		Short: "Sign in with an API key and keep it",
		Long: "Sign in with an API key (ak_…) and keep it in the system's keyring. The key is asked for without showing it, or read\n" +
			"from standard input. An operator makes keys with `runnerhub admin create-key --user LOGIN`.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	c.Flags().StringVar(&o.Hub, "hub", "", "URL of the hub (default: RUNNERCTL_HUB, or the profile's)")
	c.Flags().BoolVar(&o.KeyStdin, "api-key-stdin", false, "read the key from standard input")
	c.Flags().BoolVar(&o.Insecure, "insecure-storage", false, "keep the key in a file (mode 0600) instead of the keyring")
	return c
}

func login(ctx context.Context, o *Options) error {
	name, p, err := o.F.Profile()
	if err != nil {
		return err
	}
	hub, err := o.F.NewHub(o.Hub, name, p)
	if err != nil {
		return err
	}
	if p.Storage, err = o.F.ChooseStorage(name, p, o.Insecure); err != nil {
		return err
	}
	key, err := readKey(ctx, o)
	if err != nil {
		return err
	}
	return o.F.With(hub, key, func(client *mcpclient.Client) error {
		p.Hub = client.URL()
		who, err := client.Whoami(ctx)
		if err != nil {
			return err
		}
		err = o.F.Profiles().Update(name, func(now *profile.Profile) error {
			if err := cmdutil.Claim(name, now, p); err != nil {
				return err
			}
			now.Login = who.Login
			return o.F.Put(cmdutil.APIKey, name, *now, key)
		})
		if err != nil {
			return err
		}
		return o.F.IO.Say("Signed in to %s as %s. The key is in %s.\n", p.Hub, who.Login, o.F.Storage(p.Storage).Where())
	})
}

func readKey(ctx context.Context, o *Options) (string, error) {
	if o.KeyStdin || !o.F.IO.InTTY {
		key, err := o.F.IO.ReadLine(ctx)
		if errors.Is(err, iostreams.ErrNoInput) {
			return "", cmdutil.Usagef("standard input holds no API key: write it there, or run this in a terminal to be asked for it")
		}
		return key, err
	}
	o.F.IO.Note("API key (ak_…), not shown: ")
	key, err := o.F.IO.Secret(ctx)
	o.F.IO.Note("\n")
	if err == nil && key == "" {
		err = cmdutil.Usagef("no API key was given")
	}
	return key, err
}
