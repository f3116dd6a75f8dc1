package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/runnerhub/runnerhub/hub"
)

const (
	listenFirstPause = 100 * time.Millisecond
	listenMaxPause   = 5 * time.Second
)

// Listen implements hub.Store. It has a connection of its own, because one that listens
// must stay open and read. Every time that it begins to listen it calls f with the zero
// Hint: what was sent before is not heard. It also ends when the store is closed.
func (s *Store) Listen(ctx context.Context, f func(hub.Hint)) error {
	ctx, stop := s.untilClosed(ctx)
	defer stop()
	pause := fullJitter(listenFirstPause, listenMaxPause)
	for {
		began := time.Now()
		err := s.listenOnce(ctx, f)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		s.opts.Log.WarnContext(ctx, "the connection that hears other hubs was lost; connecting again", "error", err)
		// A server that accepts and ends connections at once is not back.
		if time.Since(began) > listenMaxPause {
			pause.Reset()
		}
		if err := wait(ctx, pause.NextBackOff()); err != nil {
			return err
		}
	}
}

func (s *Store) listenOnce(ctx context.Context, f func(hub.Hint)) error {
	cfg := s.plain.Copy()
	cfg.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) { s.hear(n.Payload, f) }
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return err
	}
	// A fresh context: the connection is given back when ctx has ended, too.
	defer func() {
		bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(bye)
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return err
	}
	f(hub.Hint{})
	for {
		if err := s.listenUntilSilent(ctx, conn); err != nil {
			return err
		}
		// A peer that vanished without a word looks like a silent one.
		ask, cancel := context.WithTimeout(ctx, s.opts.ConnectTimeout)
		err := conn.Ping(ask)
		cancel()
		if err != nil {
			return err
		}
	}
}

// listenUntilSilent waits for notifications until none has come for ListenPing.
func (s *Store) listenUntilSilent(ctx context.Context, conn *pgx.Conn) error {
	for {
		quiet, cancel := context.WithTimeout(ctx, s.opts.ListenPing)
		err := conn.PgConn().WaitForNotification(quiet)
		cancel()
		switch {
		case err == nil:
		case ctx.Err() == nil && pgconn.Timeout(err) && !conn.IsClosed():
			return nil
		default:
			return err
		}
	}
}
