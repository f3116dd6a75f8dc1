package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// lead only reads while another hub holds the task, which is what most calls of most hubs find.
	lead = `
	INSERT INTO leaders AS l (task, holder, expires_at)
	SELECT $1::text, $2::text, $4::timestamptz
	WHERE NOT EXISTS (SELECT FROM leaders o WHERE o.task = $1 AND o.holder <> $2 AND o.expires_at > $3::timestamptz)
	ON CONFLICT (task) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
	WHERE l.holder = $2 OR l.expires_at <= $3
	RETURNING true`

	resign = `DELETE FROM leaders WHERE task = $1 AND holder = $2`
)

// Lead implements hub.Store. A row with an end holds also against a hub that was frozen: its
// connection, and with it a lock of its session, would live on.
func (s *Store) Lead(ctx context.Context, task, holder string, now, until time.Time) (held bool, err error) {
	err = s.write(ctx, "lead", func(ctx context.Context) error {
		held = false
		err := s.pool.QueryRow(ctx, lead, task, holder, now, until).Scan(&held)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return held, err
}

// Resign implements hub.Store.
func (s *Store) Resign(ctx context.Context, task, holder string) error {
	return s.write(ctx, "resign", func(ctx context.Context) error {
		_, err := s.pool.Exec(ctx, resign, task, holder)
		return err
	})
}
