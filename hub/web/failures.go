package web

import (
	"crypto/sha256"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Failed sign-ins of one network before it has to wait, and how fast it earns new ones.
const (
	failureBurst  = 20
	failureRefill = 3 * time.Second
	maxNetworks   = 10_000
	maxGood       = 10_000
)

// failures limits failed sign-ins by network. Tokens cannot be guessed; this is
// to spare the store, and the log, from programs that never give up. A token that has worked here
// is let through even then, so that nobody is locked out by a neighbour behind the same address:
// it is still looked up, so a revoked one stays dead.
//
// Memory is bounded: each of the two maps starts anew when it is full.
type failures struct {
	now func() time.Time

	mu   sync.Mutex
	by   map[string]*rate.Limiter
	good map[[sha256.Size]byte]struct{}
}

func newFailures(now func() time.Time) *failures {
	return &failures{now: now, by: map[string]*rate.Limiter{}, good: map[[sha256.Size]byte]struct{}{}}
}

// wait says how long the network has to wait before it may try token.
func (f *failures) wait(network, token string) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	lim := f.by[network]
	if lim == nil {
		return 0
	}
	missing := 1 - lim.TokensAt(f.now())
	if missing <= 0 {
		return 0
	}
	if _, ok := f.good[sha256.Sum256([]byte(token))]; ok {
		return 0
	}
	return time.Duration(missing * float64(failureRefill))
}

func (f *failures) failed(network string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	lim := f.by[network]
	if lim == nil {
		if len(f.by) >= maxNetworks {
			clear(f.by)
		}
		lim = rate.NewLimiter(rate.Every(failureRefill), failureBurst)
		f.by[network] = lim
	}
	lim.AllowN(f.now(), 1)
}

func (f *failures) succeeded(token string) {
	digest := sha256.Sum256([]byte(token))
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.good[digest]; ok {
		return
	}
	if len(f.good) >= maxGood {
		clear(f.good)
	}
	f.good[digest] = struct{}{}
}
