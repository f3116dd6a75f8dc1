package pair_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/pair"
)

func TestWait(t *testing.T) {
	t.Parallel()
	const minutes = 10
	away := &mcp.Error{Code: mcp.CodeDraining, Retryable: true}
	denied := &mcp.Error{Code: mcp.CodePermissionDenied}
	for name, tc := range map[string]struct {
		answer func(asked int) (mcp.RedeemPairingResult, error)
		most   int // questions
		err    error
	}{
		"a hub that answers at once is not flooded": {func(n int) (mcp.RedeemPairingResult, error) {
			if n == minutes*30 {
				return mcp.RedeemPairingResult{State: mcp.PairingRedeemed}, nil
			}
			return mcp.RedeemPairingResult{State: mcp.PairingPending}, nil
		}, minutes * 30, nil},
		"a hub that restarts is asked again": {func(n int) (mcp.RedeemPairingResult, error) {
			if n < 5 {
				return mcp.RedeemPairingResult{}, away
			}
			return mcp.RedeemPairingResult{State: mcp.PairingRedeemed}, nil
		}, 5, nil},
		"a hub that stays away is given up with the code": {func(int) (mcp.RedeemPairingResult, error) { return mcp.RedeemPairingResult{}, away }, minutes*30 + 1, away},
		"a denial is final": {func(int) (mcp.RedeemPairingResult, error) { return mcp.RedeemPairingResult{}, denied }, 1, denied},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				begun := time.Now()
				_, err := pair.Wait(t.Context(), func(context.Context) (mcp.RedeemPairingResult, error) {
					asked++
					return tc.answer(asked)
				}, minutes*60_000)
				if !errors.Is(err, tc.err) || asked > tc.most || time.Since(begun) > minutes*time.Minute {
					t.Errorf("%v after %d questions (at most %d) and %s", err, asked, tc.most, time.Since(begun))
				}
			})
		})
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := pair.Wait(ctx, func(context.Context) (mcp.RedeemPairingResult, error) {
		cancel()
		return mcp.RedeemPairingResult{State: mcp.PairingPending}, nil
	}, 1000)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want canceled", err)
	}
}
