package dispatch

import (
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// MaxHeld is how many lease calls a runner may hold open.
const MaxHeld = maxHeld

// Waiting says how many lease calls have found nothing in a queue.
func (s *Service) Waiting(k hub.QueueKey) int {
	s.waiters.mu.Lock()
	defer s.waiters.mu.Unlock()
	n := 0
	for _, w := range s.waiters.byKey[k] {
		if w.idle {
			n++
		}
	}
	return n
}

// Watching says how many calls wait for a change of a job.
func (s *Service) Watching(jobID string) int {
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	return len(s.watch.job[jobID])
}

// SetMaxWait changes how long a call is held at most.
func (s *Service) SetMaxWait(d time.Duration) { s.maxWait = d }

// SetLogWait changes how long log bytes that were announced are waited for.
func (s *Service) SetLogWait(d time.Duration) { s.logWait = d }

// SetPartWithin changes how long one WriteUpload may take.
func (s *Service) SetPartWithin(d time.Duration) { s.partWithin = d }
