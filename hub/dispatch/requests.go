package dispatch

import (
	"context"
	"errors"
	"sync"

	"github.com/runnerhub/runnerhub/hub"
)

// requests makes one lease call of several with the same request id: a client
// that repeats a call has given the earlier one up, which must not go on to take another job.
type requests struct {
	mu   sync.Mutex
	m    map[requestKey]*request
	held map[string]int // calls by runner
}

// maxHeld is how many lease calls one runner may hold open: a waiting call has its price.
const maxHeld = 128

type requestKey struct{ runnerID, requestID string }

type request struct {
	cancel context.CancelCauseFunc
	done   chan struct{}
}

var errSuperseded = errors.New("the same request came again")

func newRequests() *requests { return &requests{m: map[requestKey]*request{}, held: map[string]int{}} }

// begin ends an earlier call with the same key, waits until it is gone, and
// returns the context that a later one ends. done must be called.
func (q *requests) begin(ctx context.Context, k requestKey) (_ context.Context, done func(), err error) {
	for {
		q.mu.Lock()
		old := q.m[k]
		if old == nil && q.held[k.runnerID] >= maxHeld {
			q.mu.Unlock()
			e := hub.Errorf(hub.RateLimited, "this runner holds %d lease calls open already", maxHeld).
				WithHint("hold one call for each free slot")
			e.Retryable, e.RetryAfter = true, MaxWait
			return nil, nil, e
		}
		if old == nil {
			ctx, cancel := context.WithCancelCause(ctx)
			r := &request{cancel: cancel, done: make(chan struct{})}
			q.m[k] = r
			q.held[k.runnerID]++
			q.mu.Unlock()
			return ctx, func() {
				q.mu.Lock()
				delete(q.m, k)
				if q.held[k.runnerID]--; q.held[k.runnerID] == 0 {
					delete(q.held, k.runnerID)
				}
				q.mu.Unlock()
				cancel(nil)
				close(r.done)
			}, nil
		}
		q.mu.Unlock()
		old.cancel(errSuperseded)
		select {
		case <-old.done:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

// endOf ends all calls of a runner, with a cause.
func (q *requests) endOf(runnerID string, cause error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for k, r := range q.m {
		if k.runnerID == runnerID {
			r.cancel(cause)
		}
	}
}

// ended turns the end of a held call's context into what its caller hears.
func ended(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), errSuperseded) {
		return hub.Errorf(hub.Conflict, "the same request id was sent again, and that call answers").
			WithHint("one call per request id at a time; this answer belongs to the earlier one")
	}
	return ctx.Err()
}
