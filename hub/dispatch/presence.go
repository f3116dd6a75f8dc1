package dispatch

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// urgentGap is the least between two writes of one runner's presence, however often it changes its mind. Other hubs see a
// change within it and one look, well below 2 s.
const urgentGap = 500 * time.Millisecond

// hearGrace is how much longer a hub waits that has not heard the runner just now: another one may have, whose write
// is the better one, and two would be one too many.
const hearGrace = 2 * time.Second

// presence is what this hub has heard of runners. It is written to the store in
// batches: every Policy.PresenceWrite per runner, by whichever hub has heard of it, and within urgentGap when something
// changed that places jobs. Other hubs read it there when they need it.
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
	if !samePlacement(s.p, p) || p.Gone() != s.p.Gone() || p.SeenAt.Sub(s.p.SeenAt) > x.policy.StaleAfter {
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
	if now.After(s.p.SeenAt) {
		s.p.SeenAt, s.dirty = now, true
	}
}

// get is what was heard of r, with what another hub has heard since: r is as it was stored when the call came.
func (x *presence) get(r hub.Runner) *sighting {
	s := x.seen[r.ID]
	if s == nil {
		s = &sighting{p: r.Presence}
		x.seen[r.ID] = s
	}
	at := r.Presence.SeenAt
	if at.After(s.p.SeenAt) {
		s.p, s.dirty, s.urgent = r.Presence, false, false
	}
	if at.After(s.written) { // by another hub, whose write serves as well
		s.written = at
	}
	return s
}

// due says whether to write what was heard.
func (s *sighting) due(now time.Time, every time.Duration) bool {
	if now.Sub(s.p.SeenAt) > urgentGap {
		every += hearGrace
	}
	since := now.Sub(s.written)
	return since >= every || s.urgent && since >= urgentGap
}

// every is how often a runner's presence is written. One that is stale before others hear of its last
// call would be seen so too early.
func (x *presence) every() time.Duration { return min(x.policy.PresenceWrite, x.policy.StaleAfter/3) }

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
		case s.dirty && (all || s.due(now, x.every())):
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
		pauseOr(ctx, min(urgentGap, s.policy.PresenceWrite/4), s.presence.ch)
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
