package attempt

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/runnerhub/runnerhub/topology"
)

const (
	// removalTimeout bounds the removal of one topology.
	removalTimeout = 3 * time.Minute
	// backlogPerWorker is how many removals may wait for each that is under way
	// before new attempts wait too: a machine must not fill up with the dead.
	backlogPerWorker = 8
)

// removal is a topology to remove.
type removal struct {
	id       topology.Identity
	known    topology.Snapshot
	filters  []topology.Filter // by which it is looked what is left
	all      bool              // what is not known, too: a process that was killed may have asked for it with its last word
	ready    string            // the network of the pool that it used
	internal bool
	done     func()
}

// reaper removes topologies in the background, a few at a time.
type reaper struct {
	engine topology.Engine
	pool   *pool
	nets   *subnets
	opts   Options
	life   context.Context
	end    context.CancelFunc

	slots chan struct{} // taken by removals under way
	queue chan struct{} // taken by all removals
	mu    sync.Mutex
	idle  *sync.Cond
	count int
}

func newReaper(engine topology.Engine, pool *pool, nets *subnets, opts Options) *reaper {
	r := &reaper{
		engine: engine, pool: pool, nets: nets, opts: opts,
		slots: make(chan struct{}, opts.Removals), queue: make(chan struct{}, opts.Removals*backlogPerWorker),
	}
	r.idle = sync.NewCond(&r.mu)
	r.life, r.end = context.WithCancel(context.Background())
	return r
}

// room waits until the backlog is short enough for one more attempt.
func (r *reaper) room(ctx context.Context) error {
	select {
	case r.queue <- struct{}{}:
		<-r.queue
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// add has a topology removed.
func (r *reaper) add(m removal) {
	r.mu.Lock()
	r.count++
	r.mu.Unlock()
	go func() {
		queued := false
		select {
		case r.queue <- struct{}{}: // counts against room; over the limit it just waits
			queued = true
		default:
		}
		r.slots <- struct{}{}
		leaks := r.remove(m)
		<-r.slots
		if queued {
			<-r.queue
		}
		m.done()
		if r.opts.Removed != nil && m.id.Job != "" {
			r.opts.Removed(m.id, leaks)
		}
		r.mu.Lock()
		r.count--
		r.idle.Broadcast()
		r.mu.Unlock()
	}()
}

// remove removes what is known, looks what is left, and tries that again.
func (r *reaper) remove(m removal) topology.Leaks {
	ctx, cancel := context.WithTimeout(r.life, removalTimeout)
	defer cancel()
	const rounds = 3
	left := m.known
	var err error
	for range rounds {
		err = execute(ctx, r.engine, r.nets, topology.PlanRemoval(left, "the attempt is over"))
		seen, seenErr := r.look(ctx, m)
		if seenErr != nil {
			err = seenErr
			break
		}
		if left = seen; !m.all {
			left = seen.Among(m.known)
		}
		if left.Count().Total() == 0 {
			break
		}
	}
	if m.ready != "" {
		if giveErr := r.pool.give(ctx, m.id.Hub, m.id.Runner, m.internal, m.ready); err == nil {
			err = giveErr
		}
	}
	leaks := left.Count()
	if err != nil || leaks.Total() > 0 {
		r.opts.Logger.Error("a topology could not be removed", "job", m.id.Job, "attempt", m.id.Attempt, "leaks", leaks, "error", err)
	}
	return leaks
}

// look observes what there is still of a topology.
func (r *reaper) look(ctx context.Context, m removal) (topology.Snapshot, error) {
	var all topology.Snapshot
	for _, filter := range m.filters {
		filter.Images = len(m.known.Images) > 0
		seen, err := r.engine.Observe(ctx, filter)
		if err != nil {
			return all, err
		}
		all = all.With(seen)
	}
	return all, nil
}

// wait waits until no removal is under way.
func (r *reaper) wait(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.idle.Broadcast()
	})
	defer stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.count > 0 && ctx.Err() == nil {
		r.idle.Wait()
	}
	if r.count > 0 {
		return context.Cause(ctx)
	}
	return nil
}

// close waits for the removals, and breaks them off when ctx ends.
func (r *reaper) close(ctx context.Context) error {
	err := r.wait(ctx)
	r.end()
	if err != nil {
		// They end by themselves now, each call having its context.
		_ = r.wait(context.Background())
	}
	return err
}

// execute carries out a plan of removals as far as it can.
func execute(ctx context.Context, engine topology.Engine, nets *subnets, plan topology.Plan) error {
	const width = 4
	return topology.Execute(ctx, plan, width, true, func(ctx context.Context, op topology.Op) error {
		return removeOne(ctx, func(ctx context.Context) error {
			switch op.Kind {
			case topology.OpRemoveContainer:
				return engine.RemoveContainer(ctx, op.Target)
			case topology.OpRemoveNetwork:
				err := engine.RemoveNetwork(ctx, op.Target)
				if err == nil {
					nets.removed(op.Target)
				}
				return err
			case topology.OpRemoveVolume:
				return engine.RemoveVolume(ctx, op.Target)
			case topology.OpRemoveImage:
				return engine.RemoveImage(ctx, op.Target)
			}
			return errors.New("attempt: not a removal: " + string(op.Kind))
		})
	})
}

// removeOne calls remove until the thing is gone: engines answer that a removal is
// in progress, or that a container still holds a network which is about to go.
func removeOne(ctx context.Context, remove func(context.Context) error) error {
	const patience = 30 * time.Second
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 20*time.Millisecond, time.Second
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := remove(ctx)
		switch topology.KindOf(err) {
		case "", topology.KindNotFound:
			return struct{}{}, nil
		case topology.KindBusy:
			return struct{}{}, err
		}
		return struct{}{}, backoff.Permanent(err)
	}, backoff.WithBackOff(wait), backoff.WithMaxElapsedTime(patience))
	return err
}
