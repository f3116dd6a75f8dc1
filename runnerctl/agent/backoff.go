package agent

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
)

// backoff pauses between tries for a random time between nothing and a bound
// that doubles up to limit (full jitter): runners that lost their hub at the same
// moment come back spread out. It has no end; the loops here go on for as long as they are wanted.
type backoff struct {
	base, limit time.Duration
	bound       time.Duration
}

func newBackoff(base, limit time.Duration) *backoff { return &backoff{base: base, limit: limit} }

// hubBackoff is how calls to the hub are repeated.
func hubBackoff() *backoff { return newBackoff(100*time.Millisecond, 10*time.Second) }

// reset opens a fresh window.
func (b *backoff) reset() { b.bound = 0 }

// next is how long to pause after err, at least what the hub asked for.
func (b *backoff) next(err error) time.Duration {
	if b.bound == 0 {
		b.bound = b.base
	}
	d := rand.N(b.bound) + 1
	b.bound = min(2*b.bound, b.limit)
	var e *mcp.Error
	if errors.As(err, &e) {
		d += min(e.RetryAfter(), time.Minute)
	}
	return d
}

// wait pauses after err; it is false if ctx ended first.
func (b *backoff) wait(ctx context.Context, err error) bool { return sleep(ctx, b.next(err)) }

// sleep is false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	if ctx.Err() != nil {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// codeOf is the code of an error of the hub's, "" for any other.
func codeOf(err error) mcp.Code {
	var e *mcp.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}
