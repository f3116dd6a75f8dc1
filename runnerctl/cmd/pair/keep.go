package pair

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/runnerctl/profile"
)

// home is where the pairing will be kept: hub and storage of profile are settled, the rest is not.
type home struct {
	name    string
	profile profile.Profile
}

// prepare settles everything that could fail before the hub is asked for anything.
func prepare(o *Options) (home, error) {
	name, p, err := o.F.Profile()
	if err != nil {
		return home{}, err
	}
	if p.Paired() {
		return home{}, paired(name, p)
	}
	if p.Hub, err = o.F.NewHub(o.Hub, name, p); err != nil {
		return home{}, err
	}
	p.Storage, err = o.F.ChooseStorage(name, p, o.Insecure)
	return home{name: name, profile: p}, err
}

func paired(name string, p profile.Profile) error {
	return &mcp.Error{
		Code: mcp.CodeConflict, Message: fmt.Sprintf("this machine is paired already: %s at %s (profile %s)", p.Label, p.Hub, name),
		Hint: "unpair it first with `runnerctl unpair`, or pair with another hub under --profile NAME",
	}
}

// keep stores the token. Where that fails after all the pairing is undone, so that no runner is left that nobody can be.
func (h home) keep(ctx context.Context, o *Options, done mcp.RedeemPairingResult) error {
	if done.Runner == nil || done.Token == "" {
		return errors.New("the hub paired this machine but sent no token; pair it again")
	}
	r := *done.Runner
	err := o.F.Profiles().Update(h.name, func(now *profile.Profile) error {
		if now.Paired() { // by another command, meanwhile: its token is not to be overwritten
			return paired(h.name, *now)
		}
		if err := cmdutil.Claim(h.name, now, h.profile); err != nil {
			return err
		}
		now.RunnerID, now.Label, now.Owner = r.ID, r.Label, r.Owner
		return o.F.Put(cmdutil.RunnerToken, h.name, *now, done.Token)
	})
	if err != nil {
		if undo := h.undo(ctx, o, done.Token); undo != nil {
			o.F.IO.Note("warning: the pairing could not be undone (%s); end it with `runnerctl runners revoke %s`\n", cmdutil.Message(undo), r.ID)
		}
		return err
	}
	if o.JSON {
		return cmdutil.PrintJSON(o.F.IO, r)
	}
	start := "runnerctl run"
	if h.name != profile.DefaultName {
		start += " --profile " + h.name
	}
	return o.F.IO.Say("Paired as %s (%s) for %s. The token is in %s.\nStart taking jobs with: %s\n",
		r.Label, r.ID, whose(o, r), o.F.Storage(h.profile.Storage).Where(), start)
}

// whose says who can send jobs to the runner. Only the owner is always told; its slug may be known from the flag.
func whose(o *Options, r mcp.Runner) string {
	switch slug := cmp.Or(r.Workspace, o.Workspace); {
	case !strings.HasPrefix(r.Owner, "ws:"):
		return "you alone"
	case slug == "":
		return "the members of its workspace"
	default:
		return "the members of " + slug
	}
}

func (h home) undo(ctx context.Context, o *Options, token string) error {
	return o.F.With(h.profile.Hub, token, func(c *mcpclient.Client) error {
		_, err := c.UnpairRunner(context.WithoutCancel(ctx))
		return err
	})
}
