package enroll

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxLimiters bounds what hostile callers can make limiters remember. When it is
// reached everything is forgotten: a limit is a brake, not a proof.
const maxLimiters = 10_000

// limiters holds a token bucket for each key.
type limiters struct {
	mu    sync.Mutex
	every rate.Limit
	burst int
	by    map[string]*limiter
}

// limiter is one key's bucket. Its lock is held over a whole try, so that tries of one
// key come one after the other and none can slip past the count.
type limiter struct {
	mu     sync.Mutex
	bucket *rate.Limiter
}

func newLimiters(every rate.Limit, burst int) *limiters {
	return &limiters{every: every, burst: burst, by: map[string]*limiter{}}
}

// try calls f unless key has no tries left, and spends one when f asks for it. wait is how
// long until the next try, 0 when f was called.
func (l *limiters) try(key string, now time.Time, f func() (spend bool)) (wait time.Duration) {
	lim := l.get(key)
	lim.mu.Lock()
	defer lim.mu.Unlock()
	if have := lim.bucket.TokensAt(now); have < 1 {
		return max(time.Second, time.Duration((1-have)/float64(l.every)*float64(time.Second)))
	}
	if f() {
		lim.bucket.AllowN(now, 1)
	}
	return 0
}

func (l *limiters) get(key string) *limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	lim, known := l.by[key]
	if !known {
		if len(l.by) >= maxLimiters {
			clear(l.by)
		}
		lim = &limiter{bucket: rate.NewLimiter(l.every, l.burst)}
		l.by[key] = lim
	}
	return lim
}
