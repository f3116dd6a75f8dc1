package enroll

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/identity"
	"github.com/runnerhub/runnerhub/pairing"
)

// RedeemRequest ends a pairing: PairingID of a request that a person decides on,
// or Token of one that is approved ahead.
type RedeemRequest struct {
	PairingID string
	Token     string // pair_…
	Machine   Machine
	PublicKey string
	Signature string // over Message by PublicKey's private half
	Message   []byte // what must have been signed
	Label     string // with a Token whose pairing names none
	Wait      time.Duration
	Address   string
}

// Redeemed is how far a pairing is; Runner and Token are set once it is redeemed.
type Redeemed struct {
	State  hub.PairingState
	Runner hub.Runner
	Token  string // rnr_…
}

// Redeem waits for the decision, up to Wait (25 s at most), and turns an approved request into a runner.
//
// The runner's token is derived from the signature, which only the machine can make: the same
// machine asking again, because the answer was lost, gets the same token, while the hub keeps only its digest.
// Anybody else finds the pairing used up.
func (s *Service) Redeem(ctx context.Context, r RedeemRequest) (Redeemed, error) {
	if err := r.Machine.check(); err != nil {
		return Redeemed{}, err
	}
	key, err := pairing.ParseKey(r.PublicKey)
	if err != nil {
		return Redeemed{}, badKey()
	}
	if !pairing.Verify(key, r.Message, r.Signature) {
		return Redeemed{}, hub.Errorf(hub.PermissionDenied, "the signature does not match the key").
			WithHint("run `runnerctl pair` again")
	}
	deadline := time.Now().Add(min(r.Wait, maxWait)) // a wait is of this process; the store's clock has no part in it
	for {
		decided := s.decided.wait() // before the look, so that no decision falls between the two
		p, err := s.lookup(ctx, r)
		if err != nil {
			return Redeemed{}, err
		}
		if len(p.PublicKey) > 0 && !bytes.Equal(p.PublicKey, key) {
			return Redeemed{}, hub.Errorf(hub.Conflict, "another machine has used this pairing").
				WithHint("run `runnerctl pair` again; a code or pairing token works once")
		}
		left := time.Until(deadline)
		if p.State != hub.PairingPending || left <= 0 || !s.now().Before(p.ExpiresAt) {
			p.PublicKey = key
			return s.redeem(ctx, p, r)
		}
		if err := s.hold(ctx, decided, min(left, redeemPoll)); err != nil {
			return Redeemed{}, err
		}
	}
}

func (s *Service) lookup(ctx context.Context, r RedeemRequest) (hub.Pairing, error) {
	var p hub.Pairing
	var err error
	if r.Token != "" {
		if _, bad := pairing.Check(r.Token, pairing.PairingToken); bad != nil {
			return p, hub.Errorf(hub.Unauthenticated, "%v", bad).WithHint("copy the pair_ token again, whole")
		}
		p, err = s.store.PairingByToken(ctx, hub.Digest(r.Token))
	} else {
		p, err = s.store.GetPairing(ctx, r.PairingID)
	}
	if hub.CodeOf(err) == hub.NotFound {
		return p, hub.Errorf(hub.NotFound, "there is no such pairing, or it has expired").
			WithHint("run `runnerctl pair` again; a code or pairing token lives for %d minutes", int(hub.PairingTTL.Minutes()))
	}
	return p, err
}

func (s *Service) hold(ctx context.Context, decided <-chan struct{}, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.drain:
		return &hub.Error{Code: hub.Draining, Message: "the hub is shutting down", Hint: "call again", Retryable: true}
	case <-decided:
	case <-t.C:
	}
	return nil
}

func (s *Service) redeem(ctx context.Context, p hub.Pairing, r RedeemRequest) (Redeemed, error) {
	token := pairing.Derive(pairing.RunnerToken, []byte(r.Signature), p.ID)
	if p.State == hub.PairingRedeemed {
		return s.again(ctx, p, token)
	}
	if p.State == hub.PairingPending && s.now().Before(p.ExpiresAt) {
		return Redeemed{State: hub.PairingPending}, nil
	}
	if p.State == hub.PairingDenied {
		return Redeemed{}, hub.Errorf(hub.PermissionDenied, "the pairing was denied").
			WithHint("ask whoever was to approve it, and run `runnerctl pair` again")
	}
	now := s.now()
	if err := p.Open(hub.PairingApproved, now); err != nil {
		return Redeemed{}, err
	}
	if r.Token != "" { // approved ahead: the machine is known only now
		p.Hostname, p.OS, p.Arch, p.Version, p.Address = r.Machine.Hostname, r.Machine.OS, r.Machine.Arch, r.Machine.Version, r.Address
		if p.Label == "" {
			p.Label = r.Label
		}
	}
	if p.Label != "" {
		if err := hub.CheckLabel(p.Label); err != nil {
			return Redeemed{}, err
		}
	}
	return s.create(ctx, p, token, r.Address, now)
}

func (s *Service) create(ctx context.Context, p hub.Pairing, token, address string, now time.Time) (Redeemed, error) {
	runner := hub.Runner{
		ID: identity.NewID(hub.RunnerIDPrefix), Owner: p.Owner, Labels: p.Labels, TokenDigest: hub.Digest(token),
		Hostname: p.Hostname, PairedBy: p.ApprovedBy, PairedAt: now,
		Presence: hub.Presence{OS: p.OS, Arch: p.Arch, Version: p.Version},
	}
	p.State, p.RunnerID = hub.PairingRedeemed, runner.ID
	e := hub.Event{
		Time: now, Actor: "runner:" + runner.ID, OnBehalfOf: "user:" + p.ApprovedBy, Action: hub.ActRunnerPaired,
		Address: address, Owner: p.Owner, RunnerID: runner.ID,
		Detail: map[string]string{"pairing": p.ID, "hostname": p.Hostname},
	}
	e.WorkspaceID, _ = p.Owner.Workspace()
	for _, label := range labelsToTry(p.Label, p.Hostname) {
		runner.Label = label
		err := s.store.RedeemPairing(ctx, p, runner, e)
		switch {
		case err == nil:
			return Redeemed{State: hub.PairingRedeemed, Runner: runner, Token: token}, nil
		case errors.Is(err, hub.ErrConflict): // redeemed in the meantime, perhaps by this machine's other try
			now, err := s.store.GetPairing(ctx, p.ID)
			if err != nil {
				return Redeemed{}, err
			}
			return s.again(ctx, now, token)
		case hub.CodeOf(err) != hub.Conflict:
			return Redeemed{}, err
		}
	}
	return Redeemed{}, labelTaken(runner.Label)
}

// again answers a pairing that is redeemed: the machine that redeemed it gets the same answer once more.
func (s *Service) again(ctx context.Context, p hub.Pairing, token string) (Redeemed, error) {
	used := hub.Errorf(hub.Conflict, "the pairing is used up").WithHint("run `runnerctl pair` again; a code or pairing token works once")
	if p.State != hub.PairingRedeemed || !s.now().Before(p.ExpiresAt) {
		return Redeemed{}, used
	}
	runner, err := s.store.RunnerByToken(ctx, hub.Digest(token))
	if hub.CodeOf(err) == hub.NotFound || (err == nil && runner.ID != p.RunnerID) {
		return Redeemed{}, used
	}
	if err != nil {
		return Redeemed{}, err
	}
	return Redeemed{State: hub.PairingRedeemed, Runner: runner, Token: token}, nil
}
