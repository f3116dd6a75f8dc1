package pair

import (
	"context"
	"errors"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
)

// pause lies between the starts of two questions: a hub, or a proxy before it, that does not hold calls is not flooded.
const pause = 2 * time.Second

func show(o *Options, s mcp.StartPairingResult) {
	o.F.IO.Note("To pair this machine, open\n\n    %s\n\nand approve the code\n\n    %s\n\n"+
		"The page must show this fingerprint: %s\nWaiting for approval; the code expires in %s.\n",
		s.VerificationURL, s.UserCode, s.Fingerprint, (time.Duration(s.ExpiresInMS) * time.Millisecond).Round(time.Second))
}

// Wait asks until somebody has decided or the code has expired. A hub that is away for a while is asked again: a
// person may approve the code at any time.
func Wait(ctx context.Context, ask func(context.Context) (mcp.RedeemPairingResult, error), expiresInMS int64) (mcp.RedeemPairingResult, error) {
	expires := time.Now().Add(time.Duration(expiresInMS) * time.Millisecond)
	for {
		next := time.NewTimer(pause)
		res, err := ask(ctx)
		e, known := errors.AsType[*mcp.Error](err)
		away := known && e.Retryable && time.Now().Before(expires)
		if err == nil && res.State == mcp.PairingRedeemed || err != nil && !away {
			next.Stop()
			return res, err
		}
		select {
		case <-next.C:
		case <-ctx.Done():
			next.Stop()
			return res, context.Cause(ctx)
		}
	}
}
