package mcpclient

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/runnerhub/runnerhub/mcp"
)

// Retry says how a call that failed is repeated. Its zero value is the default.
type Retry struct {
	MaxTries int           // of one call, the first included; default 6, 1 for none
	Base     time.Duration // upper bound of the first pause; it doubles with each; default 100 ms
	Cap      time.Duration // upper bound of every pause; default 5 s
	Within   time.Duration // no pause begins that would end later than this after the first try; default 20 s
}

// NoRetry is for callers that repeat calls themselves, as the runner does.
var NoRetry = Retry{MaxTries: 1}

func (r Retry) withDefaults() Retry {
	if r.MaxTries <= 0 {
		r.MaxTries = 6
	}
	if r.Base <= 0 {
		r.Base = 100 * time.Millisecond
	}
	if r.Cap <= 0 {
		r.Cap = 5 * time.Second
	}
	if r.Within <= 0 {
		r.Within = 20 * time.Second
	}
	return r
}

// safety says whether a call may be repeated after it may have had its effect.
type safety bool

const (
	idempotent safety = true
	once       safety = false
)

// do runs op until it succeeds, fails for good or r's limits are reached.
func do[T any](ctx context.Context, r Retry, s safety, op func(context.Context) (T, *failure)) (T, error) {
	pauses := &fullJitter{base: r.Base, limit: r.Cap}
	out, err := backoff.Retry(ctx, func() (T, error) {
		v, f := op(ctx)
		if f == nil {
			return v, nil
		}
		if ctx.Err() != nil {
			return v, backoff.Permanent(context.Cause(ctx))
		}
		if !f.again(s) {
			return v, backoff.Permanent(f.err)
		}
		pauses.atLeast = f.err.RetryAfter()
		return v, f.err
	}, backoff.WithBackOff(pauses), backoff.WithMaxTries(uint(r.MaxTries)), backoff.WithMaxElapsedTime(r.Within))
	var e *mcp.Error
	if err != nil && !errors.As(err, &e) && ctx.Err() == nil {
		err = &mcp.Error{Code: mcp.CodeInternal, Message: err.Error()}
	}
	return out, err
}

// again tells whether the call may be repeated. A full queue or a used-up quota
// does not pass within seconds: the caller should hear of it.
func (f *failure) again(s safety) bool {
	switch {
	case !f.err.Retryable, f.err.Code == mcp.CodeQueueFull, f.err.Code == mcp.CodeQuotaExceeded:
		return false
	case f.err.Code == mcp.CodeRateLimited, f.err.Code == mcp.CodeDraining:
		return true // turned away at the door
	}
	return s == idempotent || f.unsent
}

// fullJitter pauses for a random time between nothing and a bound that doubles:
// many clients that lost the hub at once come back spread out.
type fullJitter struct {
	base, limit time.Duration
	bound       time.Duration
	atLeast     time.Duration // what the hub asked for, once
}

// NextBackOff implements backoff.BackOff.
func (j *fullJitter) NextBackOff() time.Duration {
	if j.bound == 0 {
		j.bound = j.base
	}
	d := rand.N(j.bound)
	j.bound = min(2*j.bound, j.limit)
	d += j.atLeast
	j.atLeast = 0
	return d
}

// Reset implements backoff.BackOff.
func (j *fullJitter) Reset() { j.bound = 0 }
