package dispatch

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// Notice is what a caller should know of a job that was stored all the same.
type Notice struct {
	Code    hub.ReasonCode
	Message string
	Hint    string
}

// placeableFor is how long it is believed that some runner can take jobs like one that could be placed, so that a
// flood of jobs for busy runners does not read the roster for each.
const placeableFor = 10 * time.Second

// placeable remembers what kinds of jobs some runner was there for. It is asked only when nobody waits for a job.
type placeable struct {
	mu sync.Mutex
	at map[string]time.Time
}

func newPlaceable() *placeable { return &placeable{at: map[string]time.Time{}} }

// kindOf names what decides where a job can run.
func kindOf(q hub.QueuedJob) string {
	return strings.Join([]string{
		string(q.Job.QueueKey()), strings.Join(q.Payload.Requires, ","), strings.Join(q.Payload.Labels, ","), q.Payload.Needs,
	}, "\x00")
}

func (x *placeable) known(kind string, now time.Time) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	at, ok := x.at[kind]
	return ok && now.Sub(at) < placeableFor
}

func (x *placeable) note(kind string, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.at) >= maxShares {
		clear(x.at)
	}
	x.at[kind] = now
}

// notices says, of a new job that nobody was waiting for, when no runner can take it or none of those that can is
// there. The job is stored already, so that a failure to find out is no failure of the call.
func (s *Service) notices(ctx context.Context, c caller, q hub.QueuedJob) []Notice {
	kind, now := kindOf(q), s.clock.local()
	if s.placeable.known(kind, now) {
		return nil
	}
	p, err := s.placement(ctx, c, q)
	if err != nil {
		s.log.Warn("it could not be said whether a job can run", "job", q.Job.ID, "error", err)
		return nil
	}
	if p.online > 0 {
		s.placeable.note(kind, now)
		return nil
	}
	n := Notice{Code: p.main(), Message: "The job is stored, but " + fullStop(p.why(true))}
	if steps := p.steps(); len(steps) > 0 {
		n.Hint = steps[0]
	}
	return []Notice{n}
}

// main is the code of what why says.
func (p placement) main() hub.ReasonCode {
	if len(p.runners) == 0 {
		return hub.ReasonNoRunner
	}
	for _, r := range p.list[:len(p.runners)] {
		if p.eligible == 0 || r.Eligible {
			return r.Reasons[0].Code
		}
	}
	return hub.ReasonNoRunner
}
