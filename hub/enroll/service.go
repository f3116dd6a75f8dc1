// Package enroll turns machines into runners and keeps the roster: pairing
// requests, their approval, their redemption, and the end of a pairing.
package enroll

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/runnerhub/runnerhub/hub"
)

// Limits on guessing and flooding, for each hub process.
const (
	codeTries   = 10 // wrong codes of one person before they wait
	codeRefill  = time.Minute
	startBurst  = 20 // pairing requests from one address before it waits
	startRefill = 10 * time.Second
	redeemPoll  = time.Second // how long an approval given on another hub can go unseen
	maxWait     = 25 * time.Second
)

// Store is what enroll needs of the store.
type Store interface {
	hub.PairingStore
	hub.RunnerStore
	hub.AccountStore
	CountLive(ctx context.Context, o hub.Owner) (map[string]int, error)
}

// Service pairs machines and keeps the roster.
type Service struct {
	store   Store
	now     func() time.Time
	policy  hub.Policy
	drain   <-chan struct{} // closed when held calls should answer at once
	codes   *limiters       // by user
	starts  *limiters       // by address
	decided broadcast
}

// New makes a Service. Held calls answer Draining once drain is closed.
func New(store Store, now func() time.Time, policy hub.Policy, drain <-chan struct{}) *Service {
	return &Service{
		store: store, now: now, policy: policy, drain: drain,
		codes:  newLimiters(rate.Every(codeRefill), codeTries),
		starts: newLimiters(rate.Every(startRefill), startBurst),
	}
}

// owner finds whose runners a call is about: the caller's own, or a workspace's that the caller is in.
func (s *Service) owner(ctx context.Context, p hub.Principal, slug string, need hub.Role) (hub.Owner, hub.Workspace, error) {
	if slug == "" {
		return hub.UserOwner(p.User.ID), hub.Workspace{}, nil
	}
	ms, err := s.store.Memberships(ctx, p.User.ID)
	if err != nil {
		return "", hub.Workspace{}, err
	}
	for _, m := range ms {
		if m.Workspace.Slug != slug {
			continue
		}
		if need == hub.RoleAdmin && m.Role != hub.RoleAdmin {
			return "", hub.Workspace{}, hub.Errorf(hub.PermissionDenied, "only an admin of %s may pair or unpair its runners", slug).
				WithHint("ask one of its admins, or leave the workspace out to pair a runner of your own")
		}
		return hub.WorkspaceOwner(m.Workspace.ID), m.Workspace, nil
	}
	return "", hub.Workspace{}, hub.Errorf(hub.NotFound, "you are in no workspace %q", slug).
		WithHint("whoami lists your workspaces")
}

func limited(what string, wait time.Duration) *hub.Error {
	return &hub.Error{
		Code: hub.RateLimited, Message: "too many " + what, Retryable: true, RetryAfter: wait,
		Hint: "wait " + wait.Round(time.Second).String() + " and try again",
	}
}

// broadcast wakes everybody who waits for a decision.
type broadcast struct {
	mu sync.Mutex
	ch chan struct{}
}

func (b *broadcast) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *broadcast) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}
