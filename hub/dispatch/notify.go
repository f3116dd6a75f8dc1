package dispatch

import (
	"context"
	"sync"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// How long hints that are in no hurry wait for others, how far apart notifications are, and how long one
// may take. Each is a commit that no other commit of the store may overlap, so that one for each job would slow all of them.
const (
	notifyDelay   = 200 * time.Millisecond
	notifyApart   = 5 * time.Millisecond
	notifyTimeout = 5 * time.Second
)

// notifier gathers hints for other hubs and sends them from one goroutine: a
// store that serialises notifications then sees at most one at a time of ours,
// however many jobs arrive meanwhile.
type notifier struct {
	mu     sync.Mutex
	hints  map[hub.Hint]struct{}
	urgent bool
	ch     chan struct{}
}

func newNotifier() *notifier {
	return &notifier{hints: map[hub.Hint]struct{}{}, ch: make(chan struct{}, 1)}
}

func (n *notifier) add(h hub.Hint, urgent bool) {
	n.mu.Lock()
	n.hints[h] = struct{}{}
	n.urgent = n.urgent || urgent
	n.mu.Unlock()
	select {
	case n.ch <- struct{}{}:
	default:
	}
}

func (n *notifier) hurried() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.urgent
}

func (n *notifier) take() []hub.Hint {
	n.mu.Lock()
	defer n.mu.Unlock()
	hints := make([]hub.Hint, 0, len(n.hints))
	for h := range n.hints {
		hints = append(hints, h)
	}
	clear(n.hints)
	n.urgent = false
	return hints
}

// runNotifier sends what is gathered. A failure loses hints, which the other
// hubs' backup polls make up for.
func (s *Service) runNotifier(ctx context.Context) {
	var last time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.notify.ch:
		}
		if !pause(ctx, notifyApart-time.Since(last)) {
			return
		}
		if !s.notify.hurried() && !s.gather(ctx) {
			return
		}
		hints := s.notify.take()
		if len(hints) == 0 {
			continue
		}
		last = time.Now()
		call, cancel := context.WithTimeout(ctx, notifyTimeout)
		if err := s.store.Notify(call, hints); err != nil && ctx.Err() == nil {
			s.log.Warn("other hubs could not be notified", "hints", len(hints), "error", err)
		}
		cancel()
	}
}

// gather waits a moment for more hints, or until one is urgent; false when ctx ended.
func (s *Service) gather(ctx context.Context) bool {
	t := time.NewTimer(notifyDelay)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-t.C:
			return true
		case <-s.notify.ch:
			if s.notify.hurried() {
				return true
			}
		}
	}
}

// runListener takes hints from other hubs. Listen reconnects by itself; where it
// gives up nonetheless it is started again.
func (s *Service) runListener(ctx context.Context) {
	for ctx.Err() == nil {
		if err := s.store.Listen(ctx, s.heard); err != nil && ctx.Err() == nil {
			s.log.Warn("hints of other hubs cannot be heard; looking again instead", "error", err)
		}
		if !pause(ctx, s.policy.BackupPoll) {
			return
		}
	}
}

// heard acts on a hint of another hub. It must not block.
func (s *Service) heard(h hub.Hint) {
	if h == (hub.Hint{}) { // a gap in listening: anything may have happened
		s.watch.wake("")
		s.waiters.stir("")
		s.looks.addAll()
		return
	}
	if h.JobID != "" {
		s.watch.wake(h.JobID)
	}
	if h.Queue != "" {
		s.waiters.stir(h.Queue)
		s.looks.add(h.Queue)
	}
}

// pause waits; false when ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
