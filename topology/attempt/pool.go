package attempt

import (
	"context"
	"sync"

	"github.com/runnerhub/runnerhub/topology"
)

// pool keeps networks at the ready. Making one takes an engine as long as half of
// a small job, and removing one more than that.
//
// A network goes back to the pool after its attempt, once no container is on it
// any more: all that an attempt can leave on a network is a container. It is
// thus used by one attempt at a time, always of the same runner.
type pool struct {
	engine topology.Engine
	nets   *subnets
	opts   Options
	life   context.Context
	end    context.CancelFunc

	mu     sync.Mutex
	ready  map[poolKey][]string
	making map[poolKey]int
	used   map[poolKey]int
	all    map[string]bool // every network of the pool that exists, used or not
	closed bool
	wg     sync.WaitGroup
}

type poolKey struct {
	hub, runner string
	internal    bool
}

func newPool(engine topology.Engine, nets *subnets, opts Options) *pool {
	p := &pool{
		engine: engine, nets: nets, opts: opts, all: map[string]bool{},
		ready: map[poolKey][]string{}, making: map[poolKey]int{}, used: map[poolKey]int{},
	}
	p.life, p.end = context.WithCancel(context.Background())
	return p
}

// take returns a ready network, or "" when there is none, and has more made.
func (p *pool) take(hub, runner string, internal bool) string {
	key := poolKey{hub, runner, internal}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ""
	}
	var name string
	if ready := p.ready[key]; len(ready) > 0 {
		name, p.ready[key] = ready[0], ready[1:]
		p.used[key]++
	}
	p.refill(key)
	return name
}

// withdraw returns a network that is the caller's for as long as it likes: a ready one, or
// one that is made now. It comes back by adopt and give.
func (p *pool) withdraw(ctx context.Context, hub, runner string, internal bool) (string, error) {
	key := poolKey{hub, runner, internal}
	p.mu.Lock()
	if ready := p.ready[key]; len(ready) > 0 && !p.closed {
		p.ready[key] = ready[1:]
		p.refill(key)
		p.mu.Unlock()
		return ready[0], nil
	}
	name := "rh-ready-" + topology.NewTag()
	p.all[name] = true // before it exists, so that no sweep takes it for a leftover
	p.mu.Unlock()
	err := p.nets.create(ctx, topology.NetworkSpec{Name: name, Internal: internal, Labels: topology.PoolLabels(hub, runner)})
	if err != nil {
		_ = p.discard(ctx, name) // a call that was not answered may have been heard
	}
	return name, err
}

// adopt makes a network of an earlier process's pool one of this pool's, in use.
func (p *pool) adopt(hub, runner string, internal bool, name string) {
	if name == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used[poolKey{hub, runner, internal}]++
	p.all[name] = true
}

// warm has the pool of a runner filled.
func (p *pool) warm(hub, runner string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.refill(poolKey{hub, runner, false})
	}
}

// refill makes networks until there are enough, with those in use, which come
// back; p.mu is held.
func (p *pool) refill(key poolKey) {
	for len(p.ready[key])+p.making[key]+p.used[key] < p.opts.ReadyNetworks {
		p.making[key]++
		p.wg.Go(func() { p.make(key) })
	}
}

func (p *pool) make(key poolKey) {
	name := "rh-ready-" + topology.NewTag()
	p.mu.Lock()
	p.all[name] = true // before it exists, so that no sweep takes it for a leftover
	p.mu.Unlock()
	err := p.nets.create(p.life, topology.NetworkSpec{
		Name: name, Internal: key.internal, Labels: topology.PoolLabels(key.hub, key.runner),
	})
	p.mu.Lock()
	p.making[key]--
	if err == nil {
		p.ready[key] = append(p.ready[key], name)
	}
	p.mu.Unlock()
	if err != nil {
		p.opts.Logger.Warn("could not make a ready network; jobs make their own", "error", err)
		_ = p.discard(p.life, name) // a call that was not answered may have been heard
	}
}

// give takes a network back. One that a container is still on, or that is one too many,
// is removed.
func (p *pool) give(ctx context.Context, hub, runner string, internal bool, name string) error {
	key := poolKey{hub, runner, internal}
	inUse, err := p.engine.NetworkInUse(ctx, name)
	p.mu.Lock()
	p.used[key]--
	enough := len(p.ready[key])+p.making[key]+p.used[key] >= p.opts.ReadyNetworks+p.opts.spareNetworks()
	if err == nil && !inUse && !enough && !p.closed {
		p.ready[key] = append(p.ready[key], name)
		p.mu.Unlock()
		return nil
	}
	p.mu.Unlock()
	return p.discard(ctx, name)
}

func (p *pool) discard(ctx context.Context, name string) error {
	err := removeOne(ctx, func(ctx context.Context) error { return p.engine.RemoveNetwork(ctx, name) })
	if err == nil {
		p.nets.removed(name)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, name) // what could not be removed is a leftover from now on
	return err
}

// names lists the networks that are the pool's, used or not.
func (p *pool) names() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var names []string
	for name := range p.all {
		names = append(names, name)
	}
	return names
}

// close removes the ready networks. No attempt runs any more.
func (p *pool) close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	stop := context.AfterFunc(ctx, p.end)
	defer stop()
	p.wg.Wait()
	p.mu.Lock()
	ready := p.ready
	p.ready = map[poolKey][]string{}
	p.mu.Unlock()
	var first error
	for key, names := range ready {
		for _, name := range names {
			err := p.discard(ctx, name)
			if err == nil {
				continue
			}
			if first == nil {
				first = err
			}
			p.mu.Lock()
			p.ready[key] = append(p.ready[key], name) // a second close tries again
			p.mu.Unlock()
		}
	}
	if first == nil {
		p.end()
	}
	return first
}
