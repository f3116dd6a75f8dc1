package dispatch

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/runnerhub/runnerhub/hub"
)

// sweepTask is what one hub does for all: sweeps and retention.
const sweepTask = "sweep"

// leader is whether this hub is the one that sweeps. The store says so for a short
// time, which the leader prolongs; a hub that was killed or frozen loses it when that runs out. Two may
// think that they lead for as long as a frozen one takes to notice, which costs nothing but double work: each decision
// of a sweep is one guarded write.
type leader struct {
	holder string // this hub, until it ends
	ttl    time.Duration

	mu    sync.Mutex
	until time.Time // by the local clock
	next  time.Time // when to ask again
}

// maxLeaderTTL bounds how long the sweep of a hub that died stands still.
const maxLeaderTTL = 10 * time.Second

func newLeader(p hub.Policy) *leader {
	// With a look at every sweep the next leader begins within ttl and one sweep: well within one lease TTL.
	return &leader{holder: uuid.NewString(), ttl: max(2*p.Sweep, min(maxLeaderTTL, p.LeaseTTL/4))}
}

// Leads says whether this hub is the one that does what one hub does for all.
func (s *Service) Leads() bool {
	s.leader.mu.Lock()
	defer s.leader.mu.Unlock()
	return s.clock.local().Before(s.leader.until)
}

// lead asks for the lead, or prolongs it when a third of its time is over. Where the store cannot be asked, what
// it last said holds until it runs out.
func (s *Service) lead(ctx context.Context) (bool, error) {
	l := s.leader
	asked := s.clock.local() // before the store's clock starts on it, so that we never think to have it longer
	l.mu.Lock()
	held, due := asked.Before(l.until), !asked.Before(l.next)
	l.mu.Unlock()
	if held && !due {
		return true, nil
	}
	now := s.clock.now()
	ok, err := s.store.Lead(ctx, sweepTask, l.holder, now, now.Add(l.ttl))
	if err != nil {
		return s.Leads(), err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if ok != held {
		s.log.Info("the hub that sweeps", "this one", ok)
	}
	l.until, l.next = time.Time{}, time.Time{}
	if ok {
		l.until, l.next = asked.Add(l.ttl), asked.Add(l.ttl/3)
	}
	return ok, nil
}

// resign lets another hub lead at once.
func (s *Service) resign(ctx context.Context) {
	if !s.Leads() {
		return
	}
	s.leader.mu.Lock()
	s.leader.until = time.Time{}
	s.leader.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), notifyTimeout)
	defer cancel()
	if err := s.store.Resign(ctx, sweepTask, s.leader.holder); err != nil {
		s.log.Warn("the next hub to sweep begins only when this one's time runs out", "within", s.leader.ttl, "error", err)
	}
}
