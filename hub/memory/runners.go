package memory

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// GetRunner implements hub.RunnerStore.
func (s *Store) GetRunner(ctx context.Context, id string) (hub.Runner, error) {
	return s.runner(ctx, func() *hub.Runner { return s.runners[id] })
}

// RunnerByToken implements hub.RunnerStore.
func (s *Store) RunnerByToken(ctx context.Context, digest []byte) (hub.Runner, error) {
	return s.runner(ctx, func() *hub.Runner { return s.byToken[string(digest)] })
}

func (s *Store) runner(ctx context.Context, find func() *hub.Runner) (out hub.Runner, err error) {
	err = s.read(ctx, func() error {
		r := find()
		if r == nil {
			return missing("runner")
		}
		out = copyRunner(*r)
		return nil
	})
	return out, err
}

// ListRunners implements hub.RunnerStore.
func (s *Store) ListRunners(ctx context.Context, o hub.Owner, revoked bool, afterID string, limit int) (out []hub.Runner, err error) {
	err = s.read(ctx, func() error {
		if of := s.byOwner[o]; of != nil {
			of.Ascend(afterID, func(id string, r *hub.Runner) bool {
				if len(out) == limit {
					return false
				}
				if id != afterID && (revoked || r.RevokedAt.IsZero()) {
					out = append(out, copyRunner(*r))
				}
				return true
			})
		}
		return nil
	})
	return out, err
}

// RunnersByLabel implements hub.RunnerStore.
func (s *Store) RunnersByLabel(ctx context.Context, owners []hub.Owner, label string) (out []hub.Runner, err error) {
	err = s.read(ctx, func() error {
		for _, o := range slices.Compact(slices.Sorted(slices.Values(owners))) {
			if r := s.labelled(o, label); r != nil {
				out = append(out, copyRunner(*r))
			}
		}
		slices.SortFunc(out, func(a, b hub.Runner) int { return strings.Compare(a.ID, b.ID) })
		return nil
	})
	return out, err
}

// labelled is the runner of an owner's that has a label and is not revoked, or nil.
func (s *Store) labelled(o hub.Owner, label string) (found *hub.Runner) {
	if of := s.byOwner[o]; of != nil {
		of.Scan(func(_ string, r *hub.Runner) bool {
			if r.Label == label && r.RevokedAt.IsZero() {
				found = r
			}
			return found == nil
		})
	}
	return found
}

// RevokeRunner implements hub.RunnerStore.
func (s *Store) RevokeRunner(ctx context.Context, id string, at time.Time, e hub.Event) (out hub.Runner, err error) {
	err = s.write(ctx, func() error {
		r := s.runners[id]
		if r == nil {
			return missing("runner")
		}
		if r.RevokedAt.IsZero() {
			r.RevokedAt = stored(at)
			s.record(e)
		}
		out = copyRunner(*r)
		return nil
	})
	return out, err
}

// SavePolicy implements hub.RunnerStore.
func (s *Store) SavePolicy(ctx context.Context, id, policy string, e hub.Event) error {
	return s.write(ctx, func() error {
		r := s.runners[id]
		if r == nil {
			return missing("runner")
		}
		if r.Policy != policy {
			r.Policy = policy
			s.record(e)
		}
		return nil
	})
}

// SavePresence implements hub.RunnerStore.
func (s *Store) SavePresence(ctx context.Context, p map[string]hub.Presence) error {
	return s.write(ctx, func() error {
		for id, seen := range p {
			if r := s.runners[id]; r != nil && !stored(seen.SeenAt).Before(r.Presence.SeenAt) {
				r.Presence = storedPresence(seen)
			}
		}
		return nil
	})
}

// checkRunner looks whether a runner can be added.
func (s *Store) checkRunner(r hub.Runner) error {
	if s.labelled(r.Owner, r.Label) != nil {
		return hub.Errorf(hub.Conflict, "the owner has a runner with that label").
			WithHint("choose another label, or revoke the runner that has it")
	}
	if s.runners[r.ID] != nil || s.byToken[string(r.TokenDigest)] != nil {
		return taken()
	}
	return nil
}

func (s *Store) addRunner(r hub.Runner) {
	r = copyRunner(r)
	r.PairedAt, r.RevokedAt, r.Presence = stored(r.PairedAt), stored(r.RevokedAt), storedPresence(r.Presence)
	s.runners[r.ID], s.byToken[string(r.TokenDigest)] = &r, &r
	owned(s.byOwner, r.Owner).Set(r.ID, &r)
}
