// Package login is `runnerctl login`.
package login

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
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
	o := &Options{F: f}
	c := &cobra.Command{
		Use:   "login --hub URL",
		Short: "Sign in with an API key and keep it",
		Long: "Sign in with an API key (ak_…) and keep it in the system's keyring. The key is asked for without showing it, or read\n" +
			"from standard input. An operator makes keys with `runnerhub admin create-key --user LOGIN`.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if run != nil {
				return run(c.Context(), o)
			}
			return login(c.Context(), o)
		},
	}
	c.Flags().StringVar(&o.Hub, "hub", "", "URL of the hub (default: the profile's)")
	c.Flags().BoolVar(&o.KeyStdin, "api-key-stdin", false, "read the key from standard input")
	c.Flags().BoolVar(&o.Insecure, "insecure-storage", false, "keep the key in a file (mode 0600) instead of the keyring")
	return c
}

func login(ctx context.Context, o *Options) error {
	name, p, err := o.F.Profile()
	if err != nil {
		return err
	}
	if o.Hub == "" {
		if o.Hub, err = o.F.Hub(p); err != nil {
			return &mcp.Error{Code: mcp.CodeInvalidArgument, Message: "which hub?", Hint: "give --hub URL, as the hub prints it when it starts"}
		}
	}
	storage, err := o.F.ChooseStorage(p, o.Insecure)
	if err != nil {
		return err
	}
	key, err := readKey(o)
	if err != nil {
		return err
	}
	client, err := o.F.Client(o.Hub, key)
	if err != nil {
		return err
	}
	defer client.Close() //nolint:errcheck // nothing is under way any more
	if p.RunnerID != "" && p.Hub != client.URL() {
		return &mcp.Error{
			Code: mcp.CodeConflict, Message: fmt.Sprintf("the profile %s belongs to %s, which this machine is paired with", name, p.Hub),
			Hint: "sign in to another hub under --profile NAME",
		}
	}
	who, err := client.Whoami(ctx)
	if err != nil {
		return err
	}
	if err := o.F.PutAPIKey(name, storage, key); err != nil {
		return err
	}
	err = o.F.Profiles().Update(name, func(p *profile.Profile) {
		p.Hub, p.Storage, p.Login = client.URL(), storage.Kind(), who.Login
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.F.IO.Out, "Signed in to %s as %s. The key is in %s.\n", client.URL(), who.Login, storage.Where())
	return err
}

func readKey(o *Options) (string, error) {
	if o.KeyStdin || !o.F.IO.InTTY {
		line, err := bufio.NewReader(io.LimitReader(o.F.IO.In, 4096)).ReadString('\n')
		if line = strings.TrimSpace(line); line == "" {
			return "", cmdutil.Usagef("standard input holds no API key: %w", err)
		}
		return line, nil
	}
	fmt.Fprint(o.F.IO.Err, "API key (ak_…), not shown: ")
	raw, err := term.ReadPassword(int(os.Stdin.Fd()))
	fmt.Fprintln(o.F.IO.Err)
	return strings.TrimSpace(string(raw)), err
}
