package api

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/enroll"
	"github.com/runnerhub/runnerhub/mcp"
)

var machineLimits = limits{
	"machine.hostname": upTo(255), "machine.os": upTo(255), "machine.arch": upTo(255), "machine.version": upTo(255),
	"public_key": text(128), "label": labelLimit,
}

func startPairing(s Services) Operation {
	return define(Operation{
		Name: "start_pairing", Title: "Ask to be paired", Audience: Open, HTTPOnly: true,
		Description: "A machine asks to become a runner. It shows the code and link that it gets to its user, who approves them signed in, and waits with redeem_pairing.",
		Route:       Route{Method: http.MethodPost, Path: "/pairing", MaxBody: 16 << 10},
		limits:      machineLimits.with(limits{"workspace": slugLimit}),
	}, func(ctx context.Context, p hub.Principal, in mcp.StartPairingArgs) (mcp.StartPairingResult, error) {
		got, err := s.Roster.Start(ctx, enroll.StartRequest{
			Machine: machineOf(in.Machine), PublicKey: in.PublicKey, Label: in.Label, Workspace: in.Workspace, Address: p.Address,
		})
		if err != nil {
			return mcp.StartPairingResult{}, err
		}
		return mcp.StartPairingResult{
			PairingID: got.Pairing.ID, UserCode: got.UserCode, Fingerprint: got.Fingerprint,
			// In the fragment, the code reaches no server's log on the way.
			VerificationURL: baseURL(ctx) + PairPath + "#code=" + url.QueryEscape(got.UserCode),
			ExpiresInMS:     ms(got.Pairing.ExpiresAt.Sub(s.Jobs.Now())),
		}, nil
	}, func(out mcp.StartPairingResult) string { return "Approve the code at " + out.VerificationURL })
}

func redeemPairing(s Services) Operation {
	return define(Operation{
		Name: "redeem_pairing", Title: "Become a runner", Audience: Open, HTTPOnly: true,
		Description: "A machine waits up to wait_ms until a person has decided on its request, or uses a pair_ token, and gets its runner token, once.",
		Hints:       Hints{Idempotent: true},
		Route:       Route{Method: http.MethodPost, Path: "/pairing/redeem", MaxBody: 16 << 10},
		limits: machineLimits.with(limits{
			"pairing_id": upTo(64), "pairing_token": upTo(128), "signature": text(256), "wait_ms": waitLimit,
		}),
	}, func(ctx context.Context, p hub.Principal, in mcp.RedeemPairingArgs) (mcp.RedeemPairingResult, error) {
		if (in.PairingID == "") == (in.PairingToken == "") {
			return mcp.RedeemPairingResult{}, hub.Errorf(hub.InvalidArgument, "give either pairing_id or pairing_token").
				WithHint("pairing_id comes from POST %s/pairing, pairing_token from pair_runner", Base)
		}
		got, err := s.Roster.Redeem(ctx, enroll.RedeemRequest{
			PairingID: in.PairingID, Token: in.PairingToken, Machine: machineOf(in.Machine), PublicKey: in.PublicKey,
			Signature: in.Signature, Message: mcp.RedeemMessage(in.PairingID + in.PairingToken), Label: in.Label,
			Wait: duration(in.WaitMS), Address: p.Address,
		})
		if err != nil {
			return mcp.RedeemPairingResult{}, err
		}
		out := mcp.RedeemPairingResult{State: string(got.State), Token: got.Token}
		if got.Runner.ID != "" {
			r := runnerView(got.Runner, "", hub.RunnerOffline, 0)
			out.Runner = &r
		}
		return out, nil
	}, func(out mcp.RedeemPairingResult) string { return "The pairing is " + out.State + "." })
}

func viewPairing(s Services) Operation {
	return define(Operation{
		Name: "view_pairing", Title: "See who asks to be paired", Audience: People, Toolset: RunnerTools, HTTPOnly: true,
		Description: "The machine that waits with a code, for the person who decides on it. Wrong codes are counted.",
		Hints:       Hints{ReadOnly: true, Idempotent: true},
		Route:       Route{Method: http.MethodGet, Path: "/pairing/{user_code}"},
		limits:      limits{"user_code": text(32)},
	}, func(ctx context.Context, p hub.Principal, in pairingRef) (mcp.PairingView, error) {
		got, err := s.Roster.Find(ctx, p, in.UserCode)
		if err != nil {
			return mcp.PairingView{}, err
		}
		return pairingView(got, s.Jobs.Now()), nil
	}, pairingLine)
}

// pairingRef names a pairing request by the code that its machine shows.
type pairingRef struct {
	UserCode string `json:"user_code"`
}

func decidePairing(s Services) Operation {
	return define(Operation{
		Name: "decide_pairing", Title: "Approve or deny a pairing", Audience: People, Toolset: RunnerTools, HTTPOnly: true,
		Description: "Approve or deny the machine that waits with a code. For a workspace only its admins may.",
		Hints:       Hints{Destructive: true},
		Route:       Route{Method: http.MethodPost, Path: "/pairing/decide"},
		limits:      limits{"user_code": text(32), "label": labelLimit, "labels": items(20, 64)},
	}, func(ctx context.Context, p hub.Principal, in mcp.DecidePairingArgs) (mcp.PairingView, error) {
		// Whose runner it becomes is in the request, so that what the key must be for is known only now.
		asked, err := s.Roster.Find(ctx, p, in.UserCode)
		if err != nil {
			return mcp.PairingView{}, err
		}
		if asked.Pairing.Workspace != "" {
			if err := Permit(p, AdminTools, true); err != nil {
				return mcp.PairingView{}, err
			}
		}
		got, err := s.Roster.Decide(ctx, p, enroll.Decision{UserCode: in.UserCode, Approve: in.Approve, Label: in.Label, Labels: in.Labels})
		if err != nil {
			return mcp.PairingView{}, err
		}
		return pairingView(got, s.Jobs.Now()), nil
	}, pairingLine)
}

func pairingLine(out mcp.PairingView) string {
	return "The pairing of " + out.Machine.Hostname + " is " + out.State + "."
}

func machineOf(m mcp.Machine) enroll.Machine {
	return enroll.Machine{Hostname: m.Hostname, OS: m.OS, Arch: m.Arch, Version: m.Version}
}

func pairingView(v enroll.View, now time.Time) mcp.PairingView {
	p := v.Pairing
	state := string(p.State)
	if !now.Before(p.ExpiresAt) && p.State != hub.PairingRedeemed {
		state = mcp.PairingExpired
	}
	return mcp.PairingView{
		PairingID: p.ID, State: state,
		Machine: mcp.Machine{Hostname: p.Hostname, OS: p.OS, Arch: p.Arch, Version: p.Version},
		Address: p.Address, Fingerprint: v.Fingerprint, Label: p.Label, Workspace: p.Workspace,
		ExpiresInMS: ms(p.ExpiresAt.Sub(now)),
	}
}
