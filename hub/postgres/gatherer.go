package postgres

import (
	"context"
	"slices"
	"sync"
)

// gatherer lets look-ups that are made at the same time share a query, as committer does for writes. Every call of a
// hub begins with some, each for one row, so that round trips are most of what they cost. A look-up sees what was
// committed before it was asked for: it joins the next query, never the one under way.
type gatherer[K comparable, V any] struct {
	s     *Store
	doing string
	run   func(ctx context.Context, keys []K) ([]V, error)
	key   func(V) K

	mu      sync.Mutex
	waiting map[K][]chan gathering[V]
	busy    bool
}

// gathering is the answer to one look-up.
type gathering[V any] struct {
	rows []V
	err  error
}

func newGatherer[K comparable, V any](s *Store, doing string, run func(context.Context, []K) ([]V, error), key func(V) K) *gatherer[K, V] {
	return &gatherer[K, V]{s: s, doing: doing, run: run, key: key, waiting: map[K][]chan gathering[V]{}}
}

// get finds the rows of a key, in the order of the query. They are shared: a caller changes none of them.
func (g *gatherer[K, V]) get(ctx context.Context, k K) ([]V, error) {
	ch := make(chan gathering[V], 1) // buffered: the caller may have gone
	g.mu.Lock()
	g.waiting[k] = append(g.waiting[k], ch)
	if !g.busy {
		g.busy = true
		go g.drain()
	}
	g.mu.Unlock()
	select {
	case got := <-ch:
		return got.rows, got.err
	case <-ctx.Done():
		return nil, failure(ctx, g.doing, ctx.Err())
	}
}

// one finds the row of a key, or NotFound, which names what.
func (g *gatherer[K, V]) one(ctx context.Context, k K, what string) (v V, err error) {
	rows, err := g.get(ctx, k)
	switch {
	case err != nil:
		return v, err
	case len(rows) == 0:
		return v, notFound(what)
	}
	return rows[0], nil
}

// drain queries for what waits until nothing does.
func (g *gatherer[K, V]) drain() {
	for {
		callers := g.next()
		if len(callers) == 0 {
			return
		}
		keys := make([]K, 0, len(callers))
		for k := range callers {
			keys = append(keys, k)
		}
		var rows []V
		err := g.s.read(context.Background(), g.doing, func(ctx context.Context) (err error) { // no single caller's to end
			rows, err = g.run(ctx, keys)
			return err
		})
		byKey := map[K][]V{}
		for _, v := range rows {
			k := g.key(v)
			byKey[k] = append(byKey[k], v)
		}
		for k, list := range callers {
			for _, ch := range list {
				ch <- gathering[V]{slices.Clip(byKey[k]), err}
			}
		}
	}
}

// next takes all that waits, and ends the drain when nothing does.
func (g *gatherer[K, V]) next() map[K][]chan gathering[V] {
	g.mu.Lock()
	defer g.mu.Unlock()
	callers := g.waiting
	g.waiting = map[K][]chan gathering[V]{}
	g.busy = len(callers) > 0
	return callers
}
