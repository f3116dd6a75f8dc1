// Package pair is `runnerctl pair`.
package pair

import (
	"context"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
	"github.com/runnerhub/runnerhub/pairing"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
)

// Options is what the command line says.
type Options struct {
	F          *cmdutil.Factory
	Hub        string
	Label      string
	Labels     []string
	Workspace  string
	KeyStdin   bool
	TokenStdin bool
	Insecure   bool
	JSON       bool
}

// New makes the command; run replaces its body in tests.
func New(f *cmdutil.Factory, run func(context.Context, *Options) error) *cobra.Command {
	if run == nil {
		run = pair
	}
	o := &Options{F: f}
	c := &cobra.Command{
		Use:   "pair --hub URL",
		Short: "Make this machine a runner of a hub",
		Long: "Make this machine a runner of a hub. It shows a code and a link; a signed-in person opens the link, compares the\n" +
			"fingerprint, and approves. With an API key (--api-key-stdin or RUNNERCTL_API_KEY) or a pairing token from\n" +
			"pair_runner (--token-stdin or RUNNERCTL_PAIRING_TOKEN) no browser is needed.\n\n" +
			"The machine's token goes into the system's keyring, which is tried before anything is asked for. Where there is\n" +
			"none it goes into a file that only you can read, and the command says so.",
		Example: "  runnerctl pair --hub http://127.0.0.1:7117 --label laptop\n" +
			"  runnerctl pair --hub https://hub.example --workspace team --api-key-stdin < admin.key",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	c.Flags().StringVar(&o.Hub, "hub", "", "URL of the hub (default: RUNNERCTL_HUB, or the profile's)")
	c.Flags().StringVar(&o.Label, "label", "", "name of this machine among the owner's runners (default: its host name)")
	c.Flags().StringSliceVar(&o.Labels, "labels", nil, "further words that jobs can ask for; with an API key only")
	c.Flags().StringVar(&o.Workspace, "workspace", "", "pair for this workspace instead of for yourself; needs one of its admins")
	c.Flags().BoolVar(&o.KeyStdin, "api-key-stdin", false, "read an API key from standard input and pair without a browser")
	c.Flags().BoolVar(&o.TokenStdin, "token-stdin", false, "read a pair_ token from standard input and pair without a browser")
	c.Flags().BoolVar(&o.Insecure, "insecure-storage", false, "keep the token in a file (mode 0600) instead of the keyring")
	c.MarkFlagsMutuallyExclusive("api-key-stdin", "token-stdin")
	c.MarkFlagsMutuallyExclusive("workspace", "token-stdin")
	c.MarkFlagsMutuallyExclusive("labels", "token-stdin")
	cmdutil.AddJSON(c, &o.JSON, mcp.Runner{})
	return c
}

func pair(ctx context.Context, o *Options) error {
	h, err := prepare(o)
	if err != nil {
		return err
	}
	proof, err := credentials(ctx, o)
	if err != nil {
		return err
	}
	return o.F.With(h.profile.Hub, "", func(c *mcpclient.Client) error {
		h.profile.Hub = c.URL()
		done, err := introduce(ctx, o, c, proof)
		if err != nil {
			return err
		}
		return h.keep(ctx, o, done)
	})
}

// introduce asks the hub to take this machine, by whatever speaks for it, and waits for the outcome.
func introduce(ctx context.Context, o *Options, c *mcpclient.Client, by proof) (mcp.RedeemPairingResult, error) {
	public, private := pairing.NewKey()
	me := mcp.RedeemPairingArgs{Machine: thisMachine(), PublicKey: public, Label: o.Label, WaitMS: mcp.MaxWait}
	sign := func(what string) string { return pairing.Sign(private, mcp.RedeemMessage(what)) }
	if by.key != "" {
		token, err := invite(ctx, o, c.URL(), by.key)
		if err != nil {
			return mcp.RedeemPairingResult{}, err
		}
		by.token = token
	}
	if by.token != "" {
		me.PairingToken, me.Signature = by.token, sign(by.token)
		return c.RedeemPairing(ctx, me)
	}
	started, err := c.StartPairing(ctx, mcp.StartPairingArgs{Machine: me.Machine, PublicKey: public, Label: o.Label, Workspace: o.Workspace})
	if err != nil {
		return mcp.RedeemPairingResult{}, err
	}
	show(o, started)
	me.PairingID, me.Signature = started.PairingID, sign(started.PairingID)
	return Wait(ctx, func(ctx context.Context) (mcp.RedeemPairingResult, error) { return c.RedeemPairing(ctx, me) }, started.ExpiresInMS)
}

func thisMachine() mcp.Machine {
	hostname, err := os.Hostname()
	if err != nil {
		hostname = "unknown"
	}
	return mcp.Machine{Hostname: hostname, OS: runtime.GOOS, Arch: runtime.GOARCH, Version: mcp.Version}
}
