// Package identity says who calls: it tells tokens and turns them into
// principals, and keeps users, workspaces, members and API keys.
package identity

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/pairing"
)

// Store is what identity needs of the store.
type Store interface {
	hub.AccountStore
	RunnerByToken(ctx context.Context, digest []byte) (hub.Runner, error)
}

// Service authenticates callers and manages accounts.
type Service struct {
	store Store
	now   func() time.Time
}

// New makes a Service; now is the clock that keys expire by.
func New(store Store, now func() time.Time) *Service { return &Service{store: store, now: now} }

// Authenticate tells whose token it is. Every failure is Unauthenticated with a
// message that tells a typo, an unknown, an expired and a revoked token apart: none of that helps to guess 178 bits.
// The store is asked each time, so a revoked token is dead at the next call.
func (s *Service) Authenticate(ctx context.Context, token, address string) (hub.Principal, error) {
	prefix, err := pairing.Check(token, pairing.APIKey, pairing.RunnerToken)
	switch {
	case errors.Is(err, pairing.ErrChecksum):
		return hub.Principal{}, unauthenticated("the token is mistyped: its checksum does not match", "copy it again, whole")
	case errors.Is(err, pairing.ErrPrefix):
		return hub.Principal{}, unauthenticated("a "+string(prefix)+"_ token does not sign in here",
			"use an API key (ak_…), or a runner's token (rnr_…) from `runnerctl pair`")
	case err != nil:
		return hub.Principal{}, unauthenticated("that is not a token of Runner Hub", "send `Authorization: Bearer ak_…`")
	}
	p := hub.Principal{Address: address, Secret: secretOf(token)}
	if prefix == pairing.RunnerToken {
		err = s.machine(ctx, hub.Digest(token), &p)
	} else {
		err = s.person(ctx, hub.Digest(token), &p)
	}
	if err != nil {
		return hub.Principal{}, err
	}
	return p, nil
}

func (s *Service) machine(ctx context.Context, digest []byte, p *hub.Principal) error {
	r, err := s.store.RunnerByToken(ctx, digest)
	switch {
	case hub.CodeOf(err) == hub.NotFound:
		return unauthenticated("no runner of this hub has that token", "pair the machine again with `runnerctl pair`")
	case err != nil:
		return err
	case !r.RevokedAt.IsZero():
		return unauthenticated("this runner was unpaired", "pair the machine again with `runnerctl pair`").
			WithDetail("runner_id", r.ID).WithDetail("revoked", true)
	}
	p.Kind, p.Runner = hub.KindRunner, r
	return nil
}

func (s *Service) person(ctx context.Context, digest []byte, p *hub.Principal) error {
	u, k, err := s.store.UserByKey(ctx, digest)
	switch {
	case hub.CodeOf(err) == hub.NotFound:
		return unauthenticated("no user of this hub has that API key", "ask an operator for one: `runnerhub admin create-key --user LOGIN`")
	case err != nil:
		return err
	case !k.RevokedAt.IsZero():
		return unauthenticated("this API key was revoked", "ask an operator for a new one")
	case !k.Valid(s.now()):
		return unauthenticated("this API key expired on "+k.ExpiresAt.Format(time.RFC3339), "ask an operator for a new one")
	}
	p.Kind, p.User, p.KeyID, p.KeyName, p.Scope = hub.KindUser, u, k.ID, k.Name, k.Scope
	return nil
}

func unauthenticated(message, hint string) *hub.Error {
	return hub.Errorf(hub.Unauthenticated, "%s", message).WithHint("%s", hint)
}

// secretOf derives what leases are derived from, so that the token itself need not be kept around.
func secretOf(token string) hub.Secret {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte("runnerhub principal v1"))
	return mac.Sum(nil)
}

// NewID makes an id of a kind: its prefix and a UUID v7.
func NewID(prefix string) string { return prefix + uuid.Must(uuid.NewV7()).String() }
