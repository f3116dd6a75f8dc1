//go:build linux

package main

import (
	"context"
	"math/rand/v2"
	"sync"
	"syscall"
	"time"
)

// inject carries out a schedule and returns when the last fault is over. On a slow machine a part may not be whole
// again when its next fault is due; that one is left out.
func (w *world) inject(ctx context.Context, faults []fault) {
	begin := time.Now()
	parts := map[string]*sync.Mutex{}
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, f := range faults {
		if !wait(ctx, f.at-time.Since(begin)) {
			return
		}
		part, _ := f.part(w.cluster != nil, w.o)
		if parts[part] == nil {
			parts[part] = &sync.Mutex{}
		}
		own := parts[part]
		if !own.TryLock() {
			w.journal.note("left out, since it is broken still: %s %s", f.kind, part)
			continue
		}
		wg.Go(func() {
			defer own.Unlock()
			w.carryOut(ctx, f)
			wait(ctx, f.rest())
		})
	}
	wait(ctx, w.o.duration-time.Since(begin))
}

// carryOut breaks a part, and makes it whole again.
func (w *world) carryOut(ctx context.Context, f fault) {
	var what string
	switch f.kind {
	case killHub, freezeHub:
		what = w.hubs[f.target].name
	case killRunner, freezeRunner, retireRunner:
		what = w.runners[f.target].name
	case cutStore, delayStore, halfStore:
		what = "of " + w.hubs[f.target].name
	}
	end := w.journal.span(f.kind, what)
	defer end()
	r := rand.New(rand.NewPCG(f.pick, 0))
	switch f.kind {
	case killHub:
		killed(ctx, w.hubs[f.target], f.lasts)
	case killRunner:
		killed(ctx, w.runners[f.target], f.lasts)
	case freezeHub:
		frozen(ctx, w.hubs[f.target], f.lasts)
	case freezeRunner:
		frozen(ctx, w.runners[f.target], f.lasts)
	case retireRunner:
		w.retired(ctx, w.runners[f.target], f.lasts)
	case stopDatabase:
		w.stopped(ctx, syscall.SIGINT, f.lasts)
	case crashDatabase:
		w.stopped(ctx, syscall.SIGQUIT, f.lasts)
	case cutFront:
		w.cut(ctx, w.front, r, f.lasts)
	case cutStore:
		w.cut(ctx, w.stores[f.target], r, f.lasts)
	case delayFront:
		delayed(ctx, w.front, r, f.lasts)
	case delayStore:
		delayed(ctx, w.stores[f.target], r, f.lasts)
	case halfFront:
		half(ctx, w.front, r, f.lasts)
	case halfStore:
		half(ctx, w.stores[f.target], r, f.lasts)
	case fillVolume:
		w.filled(ctx, f.lasts)
	}
}

// killed is over when the process is up again; a hub may have to wait for its store.
func killed(ctx context.Context, p *process, d time.Duration) {
	p.kill()
	wait(ctx, d)
	p.start()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for !p.said(p.up) && wait(ctx, 50*time.Millisecond) {
		continue
	}
}

func frozen(ctx context.Context, p *process, d time.Duration) {
	p.signal(syscall.SIGSTOP)
	wait(ctx, d)
	p.signal(syscall.SIGCONT)
}

// retired asks a runner to end, twice: it gives back what it runs.
func (w *world) retired(ctx context.Context, p *process, d time.Duration) {
	w.await(ctx, p.name+" to be up", func() bool { return p.said(p.up) })
	p.signal(syscall.SIGTERM)
	wait(ctx, 200*time.Millisecond)
	if err := p.terminate(ctx, 45*time.Second); err != nil {
		w.breach("a process that is told to end ends", "", p.name+": "+err.Error())
	}
	wait(ctx, d)
	p.start()
}

func (w *world) stopped(ctx context.Context, how syscall.Signal, d time.Duration) {
	w.cluster.stop(how)
	wait(ctx, d)
	w.cluster.start()
	w.await(ctx, "PostgreSQL", func() bool { return w.cluster.ping(ctx) == nil })
}

// cut ends connections, some at a time.
func (w *world) cut(ctx context.Context, p *proxy, r *rand.Rand, d time.Duration) {
	const rounds = 4
	for range rounds {
		w.journal.note("cut %d connections", p.cut(r.Float64(), r.Float64))
		if !wait(ctx, d/rounds) {
			return
		}
	}
}

func delayed(ctx context.Context, p *proxy, r *rand.Rand, d time.Duration) {
	p.delay.Store(int64(20*time.Millisecond + rand64(r, 300*time.Millisecond)))
	wait(ctx, d)
	p.delay.Store(0)
}

func half(ctx context.Context, p *proxy, r *rand.Rand, d time.Duration) {
	end := p.loseHalf(0.5, r.Float64)
	wait(ctx, d)
	end()
}

func (w *world) filled(ctx context.Context, d time.Duration) {
	if err := w.volume.fill(); err != nil {
		w.Errorf("fill the log volume: %v", err)
	}
	wait(ctx, d)
	if err := w.volume.free(); err != nil {
		w.Errorf("free the log volume: %v", err)
	}
}
