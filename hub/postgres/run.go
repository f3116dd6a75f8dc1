package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// tries is how often a call is made before its failure is told: what it met is
// either over at once or for longer than a caller should wait unknowing.
const tries = 4

// read runs f, which changes nothing and so may run again when the connection was lost.
func (s *Store) read(ctx context.Context, doing string, f func(ctx context.Context) error) error {
	return s.call(ctx, doing, f, func(err error) bool {
		pg, ok := errors.AsType[*pgconn.PgError](err)
		return again(err) || (ok && pg.Code == stateAdminShutdown) || (!ok && lost(err))
	})
}

// write runs f, which is one transaction. It runs again only when the server said that it had undone the
// transaction, or when nothing was sent. A connection that was lost in the middle leaves open
// whether the transaction took effect: the caller is told Unavailable, reads and decides again.
func (s *Store) write(ctx context.Context, doing string, f func(ctx context.Context) error) error {
	return s.call(ctx, doing, f, again)
}

func again(err error) bool { return rolledBack(err) || pgconn.SafeToRetry(err) }

func (s *Store) call(ctx context.Context, doing string, f func(ctx context.Context) error, again func(error) bool) error {
	bound, cancel := context.WithTimeout(ctx, s.opts.callTimeout())
	defer cancel()
	pause := retryPause()
	for try := 1; ; try++ {
		err := f(bound)
		if err == nil {
			return nil
		}
		if s.closed.Err() != nil {
			return unavailable(doing, errClosed).WithHint("this hub is shutting down; ask another one, or once more")
		}
		if try == tries || !again(err) || wait(bound, pause.NextBackOff()) != nil {
			return failure(ctx, doing, err)
		}
	}
}

func retryPause() *backoff.ExponentialBackOff {
	return fullJitter(2*time.Millisecond, 50*time.Millisecond)
}

// fullJitter backs off by a random time between nothing and a bound that doubles from first up to most.
func fullJitter(first, most time.Duration) *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{
		// The library spreads evenly around its interval: by its whole length is from nothing to twice of it.
		InitialInterval: first / 2, MaxInterval: most / 2, Multiplier: 2, RandomizationFactor: 1,
	}
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
