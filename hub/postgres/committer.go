package postgres

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sync/errgroup"

	"github.com/runnerhub/runnerhub/hub"
)

// What one transaction holds at most, how many operations wait before the next one begins beside those under way, and how
// many are replayed at once after one has failed.
const (
	maxGroup   = 256
	enough     = 16
	maxReplays = 4
)

// committer lets writes that are made at the same time share a transaction, and so a round trip and a
// flush to disk. While one transaction is under way the next ones gather; nobody waits for others to
// come. Where a flush takes long they become many, and the next transaction begins beside it: the server lets
// flushes of several connections share one, too. A caller is answered after the commit. What fails for one operation fails the transaction: then each is
// written alone, so that it fails only for itself.
type committer[T any] struct {
	s     *Store
	doing string
	most  int // transactions under way at a time
	// linger is how long a transaction waits for company: for writes that are in no hurry and come all the time, each
	// from somebody else. Zero, as it is for all others: not at all.
	linger time.Duration
	run    func(ctx context.Context, ops []T) ([]error, error) // the outcome of each, or the transaction's failure
	row    func(T) string                                      // what it writes to; a transaction writes once to each

	mu      sync.Mutex
	waiting []*pending[T]
	flights int // transactions under way
}

type pending[T any] struct {
	ctx  context.Context
	op   T
	done chan error // buffered: the caller may have gone
}

func newCommitter[T any](s *Store, doing string, most int, run func(context.Context, []T) ([]error, error), row func(T) string) *committer[T] {
	return &committer[T]{s: s, doing: doing, most: most, run: run, row: row}
}

// do writes one operation. When ctx ends before the answer, it may or may not take effect.
func (c *committer[T]) do(ctx context.Context, op T) error {
	p := &pending[T]{ctx, op, make(chan error, 1)}
	if c.s.opts.DirectWrites {
		c.alone(ctx, p)
		return <-p.done
	}
	c.mu.Lock()
	c.waiting = append(c.waiting, p)
	if c.flights == 0 || (len(c.waiting) >= enough && c.flights < c.most) {
		c.flights++
		go c.drain()
	}
	c.mu.Unlock()
	select {
	case err := <-p.done:
		return err
	case <-ctx.Done():
		return failure(ctx, c.doing, ctx.Err())
	}
}

// drain commits what waits until nothing does, or few do while others are at it.
func (c *committer[T]) drain() {
	for {
		if c.linger > 0 {
			_ = wait(c.s.closed, c.linger) // not once the store is being closed
		}
		group := c.next()
		if len(group) == 0 {
			return
		}
		c.commit(group)
	}
}

// next takes the operations of the next transaction, in the order in which they came, and ends the drain when there are none.
func (c *committer[T]) next() []*pending[T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.flights > 1 && len(c.waiting) < enough { // whoever is at it takes them along
		c.flights--
		return nil
	}
	var group, later []*pending[T]
	rows := map[string]bool{}
	for i, p := range c.waiting {
		if len(group) == maxGroup {
			later = append(later, c.waiting[i:]...)
			break
		}
		row := c.row(p.op)
		switch {
		case p.ctx.Err() != nil:
			p.done <- failure(p.ctx, c.doing, p.ctx.Err())
		case rows[row]:
			later = append(later, p)
		default:
			rows[row] = true
			group = append(group, p)
		}
	}
	c.waiting = later
	if len(group) == 0 {
		c.flights--
	}
	return group
}

func (c *committer[T]) commit(group []*pending[T]) {
	ctx := context.Background() // what is shared is no single caller's to end; write bounds it
	if len(group) == 1 {
		c.alone(ctx, group[0])
		return
	}
	ops := make([]T, len(group))
	for i, p := range group {
		ops[i] = p.op
	}
	var outcome []error
	err := c.s.write(ctx, c.doing, func(ctx context.Context) (err error) {
		outcome, err = c.run(ctx, ops)
		return err
	})
	var again []*pending[T]
	for i, p := range group {
		switch {
		case err != nil && refused(err):
			again = append(again, p)
		case err != nil:
			p.done <- err
		case capped(outcome[i]): // perhaps only by what was written beside it, or before it has made room
			again = append(again, p)
		default:
			p.done <- outcome[i]
		}
	}
	var replays errgroup.Group
	replays.SetLimit(maxReplays)
	for _, p := range again {
		replays.Go(func() error { c.alone(ctx, p); return nil })
	}
	_ = replays.Wait()
}

// alone writes one operation in a transaction of its own.
func (c *committer[T]) alone(ctx context.Context, p *pending[T]) {
	p.done <- c.s.write(ctx, c.doing, func(ctx context.Context) error {
		outcome, err := c.run(ctx, []T{p.op})
		if err != nil {
			return err
		}
		return outcome[0]
	})
}

// refused says that the server has answered that it did not write a transaction, for what was in it.
func refused(err error) bool {
	if errors.Is(err, hub.ErrGroupBusy) {
		return true
	}
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && !gone(pg)
}

// capped says that an operation found no room.
func capped(err error) bool {
	return errors.Is(err, hub.ErrGroupBusy) || slices.Contains([]hub.Code{hub.QuotaExceeded, hub.QueueFull}, hub.CodeOf(err))
}
