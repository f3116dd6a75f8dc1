package attempt

import (
	"context"
	"sync"

	"github.com/runnerhub/runnerhub/topology"
)

// pulls makes attempts that want the same image at the same time share one pull.
// A pull ends early only when nobody waits for it any more.
type pulls struct {
	engine topology.Engine

	mu      sync.Mutex
	flights map[flightKey]*flight
	wg      sync.WaitGroup
}

type flightKey struct{ ref, platform string }

type flight struct {
	cancel  context.CancelFunc
	done    chan struct{}
	err     error // set before done is closed
	waiters map[*waiter]struct{}
}

type waiter struct{ progress func(topology.PullProgress) }

func newPulls(engine topology.Engine) *pulls {
	return &pulls{engine: engine, flights: map[flightKey]*flight{}}
}

// pull fetches an image, or joins who does so already. progress may be called
// until pull returns.
func (p *pulls) pull(ctx context.Context, ref, platform string, progress func(topology.PullProgress)) error {
	key := flightKey{ref, platform}
	w := &waiter{progress}
	p.mu.Lock()
	f := p.flights[key]
	if f == nil {
		f = p.begin(ctx, key)
	}
	f.waiters[w] = struct{}{}
	p.mu.Unlock()

	var err error
	select {
	case <-f.done:
		err = f.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(f.waiters, w)
	if len(f.waiters) == 0 {
		f.cancel()
		if p.flights[key] == f {
			delete(p.flights, key) // who comes now begins anew
		}
	}
	return err
}

// begin starts a pull of its own; p.mu is held.
func (p *pulls) begin(ctx context.Context, key flightKey) *flight {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &flight{cancel: cancel, done: make(chan struct{}), waiters: map[*waiter]struct{}{}}
	p.flights[key] = f
	p.wg.Go(func() {
		f.err = p.engine.Pull(own, key.ref, key.platform, func(progress topology.PullProgress) {
			p.mu.Lock()
			defer p.mu.Unlock()
			for w := range f.waiters {
				w.progress(progress)
			}
		})
		p.mu.Lock()
		if p.flights[key] == f {
			delete(p.flights, key)
		}
		p.mu.Unlock()
		close(f.done)
	})
	return f
}

// close waits for pulls that were abandoned.
func (p *pulls) close() { p.wg.Wait() }
