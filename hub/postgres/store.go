// Package postgres keeps a hub's state in PostgreSQL (13 or newer), for any number of hubs on one
// database. It holds SQL and nothing else: what happens is decided by the pure
// functions of package hub.
//
// Every mutation is one transaction in one round trip: a single statement whose parts are
// common table expressions, or a short pipeline when a lock has to be taken first. A guard that finds
// another row leaves the first part without rows, and so all others. No transaction is open while
// a hub thinks. The writes that jobs live by come from many calls at once and share transactions (committer).
package postgres

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/runnerhub/runnerhub/hub"
)

// Store implements hub.Store. It is safe for concurrent use.
type Store struct {
	id    string // tells this store's own hints from those of others
	opts  Options
	pool  *pgxpool.Pool
	plain *pgx.ConnConfig // of connections outside the pool
	clock clock

	lookups  lookups
	intake   *committer[*intake]
	renewals *committer[*hub.Change]
	changes  *committer[*hub.Change]

	closed  context.Context // done once Close was called
	close   context.CancelFunc
	running sync.WaitGroup // the clock's loop
}

var _ hub.Store = (*Store)(nil)

// renewLinger is how long the renewal of a lease waits for others. Thousands of runners send one every few seconds, hardly
// two at the same moment; a lease lasts a thousand times as long.
const renewLinger = 20 * time.Millisecond

var errClosed = errors.New("postgres: the store was closed")

// Open connects to the database at url, brings its schema up to date unless told not to, and reads its
// clock. Several hubs may open one database at once. ctx bounds opening alone.
func Open(ctx context.Context, url string, opts Options) (*Store, error) {
	opts = opts.withDefaults()
	cfg, err := poolConfig(url, opts)
	if err != nil {
		return nil, err
	}
	s := &Store{id: uuid.NewString(), opts: opts, plain: plainConfig(cfg)}
	s.clock.local = opts.Now
	s.lookups = newLookups(s)
	s.intake = newCommitter(s, "enqueue or lease", 1, s.takeIn, (*intake).jobID)
	s.renewals = newCommitter(s, "renew a lease", 1, s.renewAll, func(c *hub.Change) string { return c.Job.ID })
	s.renewals.linger = renewLinger
	s.changes = newCommitter(s, "write a decision", 2, s.applyAll, func(c *hub.Change) string { return c.Job.ID })
	if err := s.migrate(ctx); err != nil {
		return nil, err
	}
	// The pool outlives the context that bounds opening it.
	if s.pool, err = pgxpool.NewWithConfig(context.WithoutCancel(ctx), cfg); err != nil {
		return nil, failure(ctx, "open the pool", err)
	}
	if err := s.syncClock(ctx); err != nil {
		s.pool.Close()
		return nil, failure(ctx, "read the clock", err)
	}
	s.closed, s.close = context.WithCancel(context.Background())
	s.running.Go(func() {
		t := time.NewTicker(opts.ClockRefresh)
		defer t.Stop()
		s.keepClock(s.closed, t.C)
	})
	return s, nil
}

// Close ends Listen and the store's own loop and closes all connections, after the calls that use them.
func (s *Store) Close() error {
	s.close()
	s.running.Wait()
	s.pool.Close()
	return nil
}

// untilClosed derives a context that ends with the store, too.
func (s *Store) untilClosed(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.closed, func() { cancel(errClosed) })
	return ctx, func() { stop(); cancel(nil) }
}

// HubID implements hub.Store.
func (s *Store) HubID(ctx context.Context) (string, error) {
	var id string
	err := s.read(ctx, "read the hub's id", func(ctx context.Context) error {
		return missing(s.pool.QueryRow(ctx, selectHubID).Scan(&id), "hub id")
	})
	return id, err
}
