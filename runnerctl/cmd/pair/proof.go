package pair

import (
	"context"
	"errors"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/runnerctl/iostreams"
)

// proof is what stands in for a person at a browser; at most one is set.
type proof struct{ token, key string }

// credentials reads the proof, if there is one, and refuses what would be of no effect with it.
func credentials(ctx context.Context, o *Options) (proof, error) {
	var p proof
	var err error
	switch {
	case o.TokenStdin:
		p.token, err = o.F.IO.ReadLine(ctx)
	case o.KeyStdin:
		p.key, err = o.F.IO.ReadLine(ctx)
	case o.F.Getenv(cmdutil.EnvPairingToken) != "":
		p.token = o.F.Getenv(cmdutil.EnvPairingToken)
	default:
		p.key = o.F.Getenv(cmdutil.EnvAPIKey)
	}
	switch {
	case errors.Is(err, iostreams.ErrNoInput):
		return p, cmdutil.Usagef("%w: write the key or the token there", err)
	case err != nil:
		return p, err
	case len(o.Labels) > 0 && p.key == "":
		return p, cmdutil.Usagef("--labels needs an API key (--api-key-stdin or %s): otherwise whoever approves gives the labels", cmdutil.EnvAPIKey)
	case o.Workspace != "" && p.token != "":
		return p, cmdutil.Usagef("--workspace has no effect with a pairing token, which says itself whom it pairs for")
	}
	return p, nil
}

// invite approves this machine ahead, as the person whose key it is, and returns the pairing token.
func invite(ctx context.Context, o *Options, hub, key string) (token string, err error) {
	args := mcp.PairRunnerArgs{Label: o.Label, Labels: o.Labels}
	var res mcp.PairRunnerResult
	err = o.F.With(hub, key, func(c *mcpclient.Client) (err error) {
		if o.Workspace != "" {
			res, err = c.PairWorkspaceRunner(ctx, mcp.PairWorkspaceRunnerArgs{Workspace: o.Workspace, PairRunnerArgs: args})
		} else {
			res, err = c.PairRunner(ctx, args)
		}
		return err
	})
	return res.PairingToken, err
}
