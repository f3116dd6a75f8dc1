package dispatch

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// presence is what this hub has heard of runners. It is written to the store in
// batches: at most every Policy.PresenceWrite per runner, and at once when something changed
// that places jobs.
type presence struct {
	policy hub.Policy
	mu     sync.Mutex
	seen   map[string]*sighting
	ch     chan struct{}
}

type sighting struct {
	p       hub.Presence
	dirty   bool
	urgent  bool
	written time.Time
}

func newPresence(p hub.Policy) *presence {
	return &presence{policy: p, seen: map[string]*sighting{}, ch: make(chan struct{}, 1)}
}

// polled notes a lease call of r with what it told of itself.
func (x *presence) polled(r hub.Runner, p hub.Presence) {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := x.get(r)
	// What s had before is stored, or about to be.
	if !samePlacement(s.p, p) || p.SeenAt.Sub(s.p.SeenAt) > x.policy.StaleAfter {
		s.urgent = true
		x.signal()
	}
	s.p, s.dirty = p, true
}

// beat notes a heartbeat, which tells only that the runner is there.
func (x *presence) beat(r hub.Runner, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := x.get(r)
	if r.Presence.SeenAt.After(s.p.SeenAt) { // another hub has heard more
		s.p = r.Presence
	}
	if now.After(s.p.SeenAt) {
		s.p.SeenAt, s.dirty = now, true
	}
}

func (x *presence) get(r hub.Runner) *sighting {
	s := x.seen[r.ID]
	if s == nil {
		s = &sighting{p: r.Presence}
		x.seen[r.ID] = s
	}
	return s
}

func (x *presence) signal() {
	select {
	case x.ch <- struct{}{}:
	default:
	}
}

func samePlacement(a, b hub.Presence) bool {
	return a.OS == b.OS && a.Arch == b.Arch && a.Version == b.Version && a.Protocol == b.Protocol &&
		a.Slots == b.Slots && a.Draining == b.Draining && a.StatusText == b.StatusText &&
		a.StatusLevel == b.StatusLevel && slices.Equal(a.Capabilities, b.Capabilities)
}

// due takes what is to be written at now, or everything that is not written yet.
func (x *presence) due(now time.Time, all bool) map[string]hub.Presence {
	x.mu.Lock()
	defer x.mu.Unlock()
	out := map[string]hub.Presence{}
	for id, s := range x.seen {
		switch {
		case s.dirty && (all || s.urgent || now.Sub(s.written) >= x.policy.PresenceWrite):
			out[id] = s.p
			s.dirty, s.urgent, s.written = false, false, now
		case !s.dirty && now.Sub(s.p.SeenAt) > x.policy.OfflineAfter:
			delete(x.seen, id)
		}
	}
	return out
}

// failed puts back what could not be written, for the next turn.
func (x *presence) failed(batch map[string]hub.Presence) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for id := range batch {
		if s := x.seen[id]; s != nil {
			s.dirty = true
		}
	}
}

func (x *presence) knows(runnerID string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.seen[runnerID] != nil
}

// Fresh returns runners with what this hub heard of them more recently than was stored.
func (s *Service) Fresh(runners ...hub.Runner) []hub.Runner {
	s.presence.mu.Lock()
	defer s.presence.mu.Unlock()
	out := slices.Clone(runners)
	for i := range out {
		if x := s.presence.seen[out[i].ID]; x != nil && x.p.SeenAt.After(out[i].Presence.SeenAt) {
			out[i].Presence = x.p
		}
	}
	return out
}

// runPresence writes presence, and what is left of it when ctx ends.
func (s *Service) runPresence(ctx context.Context) {
	for {
		pauseOr(ctx, s.policy.PresenceWrite/4, s.presence.ch)
		ended := ctx.Err() != nil
		batch := s.presence.due(s.clock.now(), ended)
		if len(batch) > 0 {
			call, cancel := context.WithTimeout(context.WithoutCancel(ctx), notifyTimeout)
			if err := s.store.SavePresence(call, batch); err != nil {
				s.presence.failed(batch)
				s.log.Warn("the presence of runners could not be stored", "runners", len(batch), "error", err)
			}
			cancel()
		}
		if ended {
			return
		}
		s.waiters.forget(s.presence.knows)
	}
}

// pauseOr waits for d, a signal or the end of ctx, and says whether it was the signal.
func pauseOr(ctx context.Context, d time.Duration, ch <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return false
	case <-ch:
		return true
	}
}
