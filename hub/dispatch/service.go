// Package dispatch holds the use cases of the control plane: submit, lease and
// wait, heartbeat, settle, cancel, logs, explain and the sweep. Each reads a
// job, lets a pure function of package hub decide, and writes the decision in one
// guarded write; who lost a race reads again. Callers are authenticated already.
//
// Every method returns errors of type *hub.Error where the caller may see the
// cause. Methods that hold a call end early when ctx does or the hub drains.
package dispatch

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// MaxWait is the longest that a call is held, whatever it asks for.
const MaxWait = 25 * time.Second

// Config is what a Service needs.
type Config struct {
	Store  hub.Store
	Bucket hub.Bucket
	Policy hub.Policy
	Logger *slog.Logger // nil discards

	// Clock tells the time that leases live by. Nil follows the store's clock: the
	// local one, corrected by a difference that Run measures.
	Clock func() time.Time
	// LogWait is how long after a job's end a reader waits for log bytes that the
	// result announced and that have not arrived; default 5 s.
	LogWait time.Duration
	// LogScan is how many bytes of log one call reads at most; default 16 MiB.
	LogScan int64
}

// Service is the use cases over one store. It is safe for concurrent use.
type Service struct {
	store   hub.Store
	bucket  hub.Bucket
	policy  hub.Policy
	log     *slog.Logger
	clock   *clock
	logWait time.Duration
	logScan int64
	maxWait time.Duration

	waiters  *waiters
	watch    *watchers
	presence *presence
	notify   *notifier
	looks    *looks
	shares   *shares

	placeable *placeable

	requests  *requests
	recent    *recent
	leader    *leader
	finishing *turns // of uploads, by id

	partWithin time.Duration

	hubID    atomic.Pointer[string]
	started  atomic.Pointer[time.Time] // since when this hub has heard polls
	draining chan struct{}
	drain    sync.Once
}

// New makes a Service. Calls work at once; wake-ups from other hubs, sweeps and
// stored presence need Run.
func New(c Config) *Service {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.LogWait == 0 {
		c.LogWait = 5 * time.Second
	}
	if c.LogScan == 0 {
		c.LogScan = 16 << 20
	}
	s := &Service{
		store: c.Store, bucket: c.Bucket, policy: c.Policy, log: c.Logger,
		clock: newClock(c.Clock, c.Policy.LeaseTTL/2), logWait: c.LogWait, logScan: c.LogScan, maxWait: MaxWait,
		waiters: newWaiters(), watch: newWatchers(), presence: newPresence(c.Policy),
		notify: newNotifier(), looks: newLooks(), shares: newShares(), placeable: newPlaceable(), requests: newRequests(), recent: newRecent(),
		leader: newLeader(c.Policy), finishing: newTurns(), partWithin: partWithin, draining: make(chan struct{}),
	}
	s.start()
	return s
}

func (s *Service) start() {
	now := s.clock.now()
	s.started.Store(&now)
}

func (s *Service) startedAt() time.Time { return *s.started.Load() }

// Drain answers held calls with Draining at once, and later calls that would
// be held; everything else goes on, so that runners can still report.
func (s *Service) Drain() { s.drain.Do(func() { close(s.draining) }) }

// Policy returns the policy that the service works by.
func (s *Service) Policy() hub.Policy { return s.policy }

// Now is the time that leases live by.
func (s *Service) Now() time.Time { return s.clock.now() }

// HubID returns this installation's id.
func (s *Service) HubID(ctx context.Context) (string, error) {
	if id := s.hubID.Load(); id != nil {
		return *id, nil
	}
	id, err := s.store.HubID(ctx)
	if err != nil {
		return "", err
	}
	s.hubID.Store(&id)
	return id, nil
}

func isDraining(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

func errDraining() error {
	e := hub.Errorf(hub.Draining, "this hub is shutting down").WithHint("call again; another hub or its successor answers")
	e.Retryable, e.RetryAfter = true, time.Second
	return e
}
