// Package pair is `runnerctl pair`.
package pair

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
	"github.com/runnerhub/runnerhub/pairing"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/runnerctl/keyring"
	"github.com/runnerhub/runnerhub/runnerctl/profile"
)

// Options is what the command line says.
type Options struct {
	F             *cmdutil.Factory
	Hub           string
	Label         string
	Labels        []string
	Workspace     string
	KeyStdin      bool
	TokenStdin    bool
	Insecure      bool
	JSON          bool
	hostname      func() (string, error)
	pairingKey    func() (string, func(string) string)
	profileName   string
	profile       profile.Profile
	storage       keyring.Store
	client        *mcpclient.Client
	redeemRequest mcp.RedeemPairingArgs
}

// New makes the command; run replaces its body in tests.
func New(f *cmdutil.Factory, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{F: f, hostname: os.Hostname, pairingKey: newKey}
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
		RunE: func(c *cobra.Command, _ []string) error {
			if run != nil {
				return run(c.Context(), o)
			}
			return pair(c.Context(), o)
		},
	}
	c.Flags().StringVar(&o.Hub, "hub", "", "URL of the hub (default: the profile's)")
	c.Flags().StringVar(&o.Label, "label", "", "name of this machine among the owner's runners (default: its host name)")
	c.Flags().StringSliceVar(&o.Labels, "labels", nil, "further words that jobs can ask for; with an API key only")
	c.Flags().StringVar(&o.Workspace, "workspace", "", "pair for this workspace instead of for yourself; needs one of its admins")
	c.Flags().BoolVar(&o.KeyStdin, "api-key-stdin", false, "read an API key from standard input and pair without a browser")
	c.Flags().BoolVar(&o.TokenStdin, "token-stdin", false, "read a pair_ token from standard input and pair without a browser")
	c.Flags().BoolVar(&o.Insecure, "insecure-storage", false, "keep the token in a file (mode 0600) instead of the keyring")
	c.MarkFlagsMutuallyExclusive("api-key-stdin", "token-stdin")
	cmdutil.AddJSON(c, &o.JSON, mcp.Runner{})
	return c
}

func newKey() (string, func(string) string) {
	public, private := pairing.NewKey()
	return public, func(what string) string { return pairing.Sign(private, mcp.RedeemMessage(what)) }
}

func pair(ctx context.Context, o *Options) error {
	if err := prepare(o); err != nil {
		return err
	}
	defer o.client.Close() //nolint:errcheck // nothing is under way any more
	public, sign := o.pairingKey()
	hostname, err := o.hostname()
	if err != nil {
		hostname = "unknown"
	}
	machine := mcp.Machine{Hostname: hostname, OS: runtime.GOOS, Arch: runtime.GOARCH, Version: mcp.Version}
	o.redeemRequest = mcp.RedeemPairingArgs{Machine: machine, PublicKey: public, Label: o.Label, WaitMS: mcp.MaxWait}

	token, key, err := o.credentials()
	if err != nil {
		return err
	}
	switch {
	case token != "":
		o.redeemRequest.PairingToken, o.redeemRequest.Signature = token, sign(token)
	case key != "":
		invited, err := o.invite(ctx, key)
		if err != nil {
			return err
		}
		o.redeemRequest.PairingToken, o.redeemRequest.Signature = invited.PairingToken, sign(invited.PairingToken)
	default:
		started, err := o.client.StartPairing(ctx, mcp.StartPairingArgs{Machine: machine, PublicKey: public, Label: o.Label, Workspace: o.Workspace})
		if err != nil {
			return err
		}
		o.show(started)
		o.redeemRequest.PairingID, o.redeemRequest.Signature = started.PairingID, sign(started.PairingID)
	}
	done, err := o.redeem(ctx)
	if err != nil {
		return err
	}
	return o.keep(ctx, done)
}

// prepare settles everything that could fail before the hub is asked for anything.
func prepare(o *Options) error {
	name, p, err := o.F.Profile()
	if err != nil {
		return err
	}
	if p.RunnerID != "" {
		return &mcp.Error{
			Code: mcp.CodeConflict, Message: fmt.Sprintf("this machine is paired already: %s at %s (profile %s)", p.Label, p.Hub, name),
			Hint: "unpair it first with `runnerctl unpair`, or pair with another hub under --profile NAME",
		}
	}
	if o.Hub == "" {
		if o.Hub, err = o.F.Hub(p); err != nil {
			return &mcp.Error{Code: mcp.CodeInvalidArgument, Message: "which hub?", Hint: "give --hub URL, as the hub prints it when it starts"}
		}
	}
	if o.storage, err = o.F.ChooseStorage(p, o.Insecure); err != nil {
		return err
	}
	o.profileName, o.profile = name, p
	o.client, err = o.F.Client(o.Hub, "")
	return err
}

// credentials reads what stands in for a person at a browser, if anything does.
func (o *Options) credentials() (token, key string, err error) {
	read := func() (string, error) {
		line, err := bufio.NewReader(io.LimitReader(o.F.IO.In, 4096)).ReadString('\n')
		if line = strings.TrimSpace(line); line == "" {
			return "", cmdutil.Usagef("standard input holds nothing: %w", err)
		}
		return line, nil
	}
	switch {
	case o.TokenStdin:
		token, err = read()
	case o.KeyStdin:
		key, err = read()
	default:
		token, key = o.F.Getenv(cmdutil.EnvPairingToken), o.F.Getenv(cmdutil.EnvAPIKey)
	}
	return token, key, err
}

func (o *Options) invite(ctx context.Context, key string) (mcp.PairRunnerResult, error) {
	people, err := o.F.Client(o.Hub, key)
	if err != nil {
		return mcp.PairRunnerResult{}, err
	}
	defer people.Close() //nolint:errcheck // nothing is under way any more
	args := mcp.PairRunnerArgs{Label: o.Label, Labels: o.Labels}
	if o.Workspace != "" {
		return people.PairWorkspaceRunner(ctx, mcp.PairWorkspaceRunnerArgs{Workspace: o.Workspace, PairRunnerArgs: args})
	}
	return people.PairRunner(ctx, args)
}

func (o *Options) show(s mcp.StartPairingResult) {
	fmt.Fprintf(o.F.IO.Err, "To pair this machine, open\n\n    %s\n\nand approve the code\n\n    %s\n\n"+
		"The page must show this fingerprint: %s\nWaiting for approval; the code expires in %s.\n",
		s.VerificationURL, s.UserCode, s.Fingerprint, (time.Duration(s.ExpiresInMS) * time.Millisecond).Round(time.Second))
}

func (o *Options) redeem(ctx context.Context) (mcp.RedeemPairingResult, error) {
	for {
		res, err := o.client.RedeemPairing(ctx, o.redeemRequest)
		if err != nil || res.State == mcp.PairingRedeemed {
			return res, err
		}
	}
}

// keep stores the token. Where that fails after all the pairing is undone, so that no runner is left that nobody can be.
func (o *Options) keep(ctx context.Context, done mcp.RedeemPairingResult) error {
	if done.Runner == nil || done.Token == "" {
		return errors.New("the hub paired this machine but sent no token")
	}
	r := *done.Runner
	err := o.F.PutRunnerToken(o.profileName, o.storage, done.Token)
	if err == nil {
		err = o.F.Profiles().Update(o.profileName, func(p *profile.Profile) {
			p.Hub, p.Storage = o.client.URL(), o.storage.Kind()
			p.RunnerID, p.Label, p.Owner = r.ID, r.Label, r.Owner
		})
	}
	if err != nil {
		return errors.Join(err, o.undo(ctx, done.Token))
	}
	if o.JSON {
		return cmdutil.PrintJSON(o.F.IO, r)
	}
	whose := "you alone"
	if r.Workspace != "" {
		whose = "the members of " + r.Workspace
	}
	_, err = fmt.Fprintf(o.F.IO.Out, "Paired as %s (%s) for %s. The token is in %s.\nStart taking jobs with: runnerctl run\n",
		r.Label, r.ID, whose, o.storage.Where())
	return err
}

func (o *Options) undo(ctx context.Context, token string) error {
	c, err := o.F.Client(o.Hub, token)
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // nothing is under way any more
	_, err = c.UnpairRunner(context.WithoutCancel(ctx))
	return err
}
