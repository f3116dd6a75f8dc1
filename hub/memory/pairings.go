package memory

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// CreatePairing implements hub.PairingStore.
func (s *Store) CreatePairing(ctx context.Context, p hub.Pairing, e hub.Event) error {
	return s.write(ctx, func() error {
		switch {
		case len(p.CodeDigest) == 0 && len(p.TokenDigest) == 0:
			return errors.New("memory: a pairing has neither a code nor a token")
		case s.codes[string(p.CodeDigest)] != nil:
			return hub.Errorf(hub.Conflict, "the pairing code is in use").WithHint("draw another code")
		case s.pairings[p.ID] != nil || s.tokens[string(p.TokenDigest)] != nil:
			return taken()
		}
		p = copyPairing(p)
		p.CreatedAt, p.ExpiresAt = stored(p.CreatedAt), stored(p.ExpiresAt)
		s.pairings[p.ID] = &p
		if len(p.CodeDigest) > 0 {
			s.codes[string(p.CodeDigest)] = &p
		}
		if len(p.TokenDigest) > 0 {
			s.tokens[string(p.TokenDigest)] = &p
		}
		s.record(e)
		return nil
	})
}

// GetPairing implements hub.PairingStore.
func (s *Store) GetPairing(ctx context.Context, id string) (hub.Pairing, error) {
	return s.pairing(ctx, func() *hub.Pairing { return s.pairings[id] })
}

// PairingByCode implements hub.PairingStore.
func (s *Store) PairingByCode(ctx context.Context, digest []byte) (hub.Pairing, error) {
	return s.pairing(ctx, func() *hub.Pairing { return s.codes[string(digest)] })
}

// PairingByToken implements hub.PairingStore.
func (s *Store) PairingByToken(ctx context.Context, digest []byte) (hub.Pairing, error) {
	return s.pairing(ctx, func() *hub.Pairing { return s.tokens[string(digest)] })
}

func (s *Store) pairing(ctx context.Context, find func() *hub.Pairing) (out hub.Pairing, err error) {
	err = s.read(ctx, func() error {
		p := find()
		if p == nil {
			return missing("pairing")
		}
		out = copyPairing(*p)
		return nil
	})
	return out, err
}

// DecidePairing implements hub.PairingStore.
func (s *Store) DecidePairing(ctx context.Context, p hub.Pairing, e hub.Event) error {
	return s.write(ctx, func() error {
		now := s.pairings[p.ID]
		if now == nil || now.State != hub.PairingPending {
			return hub.ErrConflict
		}
		if err := checkPairing(p); err != nil {
			return err
		}
		change(now, p)
		s.record(e)
		return nil
	})
}

// RedeemPairing implements hub.PairingStore.
func (s *Store) RedeemPairing(ctx context.Context, p hub.Pairing, r hub.Runner, e hub.Event) error {
	return s.write(ctx, func() error {
		now := s.pairings[p.ID]
		if now == nil || now.State != hub.PairingApproved {
			return hub.ErrConflict
		}
		if err := errors.Join(checkPairing(p), s.checkRunner(r)); err != nil {
			return err
		}
		change(now, p)
		s.addRunner(r)
		s.record(e)
		return nil
	})
}

// checkPairing holds a decided request to what the databases' constraints say.
func checkPairing(p hub.Pairing) error {
	if p.Owner == "" && p.State != hub.PairingPending && p.State != hub.PairingDenied {
		return errors.New("memory: an approved pairing has an owner")
	}
	if (p.State == hub.PairingRedeemed) != (p.RunnerID != "") {
		return errors.New("memory: a pairing has a runner once it is redeemed")
	}
	return nil
}

// change writes all but a request's credentials and times, which never change.
func change(now *hub.Pairing, p hub.Pairing) {
	now.State, now.PublicKey, now.Owner, now.Workspace = p.State, bytes.Clone(p.PublicKey), p.Owner, p.Workspace
	now.Hostname, now.OS, now.Arch, now.Version, now.Address = p.Hostname, p.OS, p.Arch, p.Version, p.Address
	now.Label, now.Labels, now.ApprovedBy, now.RunnerID = p.Label, slices.Clone(p.Labels), p.ApprovedBy, p.RunnerID
}

// DeletePairings implements hub.PairingStore.
func (s *Store) DeletePairings(ctx context.Context, before time.Time) (n int, err error) {
	err = s.write(ctx, func() error {
		for id, p := range s.pairings {
			if p.ExpiresAt.Before(stored(before)) {
				delete(s.pairings, id)
				delete(s.codes, string(p.CodeDigest))
				delete(s.tokens, string(p.TokenDigest))
				n++
			}
		}
		return nil
	})
	return n, err
}
