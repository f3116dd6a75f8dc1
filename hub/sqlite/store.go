// Package sqlite keeps a hub's state in one SQLite file: the embedded default,
// which needs no set-up and no cgo. It holds SQL and nothing else: what happens is decided by the pure
// functions of package hub.
//
// One connection writes, a few read. A write is durable once it is answered: the file is in WAL
// mode with synchronous FULL. Writes that wait at the same time share a transaction and its sync of the disk. One
// hub holds a file at a time, by a lock file beside it.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/migrations"
)

// Store implements hub.Store. It is safe for concurrent use.
type Store struct {
	path   string
	lock   *fileLock // nil when shared
	writer *writer
	reader *reader

	closed    context.Context // done once Close was called
	close     context.CancelFunc
	closeOnce sync.Once
	closeErr  error
}

var _ hub.Store = (*Store)(nil)

var errClosed = errors.New("sqlite: the store was closed")

// Close waits for the write under way, and gives the file back.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		s.close()
		s.closeErr = errors.Join(s.reader.Close(), s.writer.Close(), s.lock.Unlock())
	})
	return s.closeErr
}

// HubID implements hub.Store.
func (s *Store) HubID(ctx context.Context) (string, error) {
	var id string
	err := s.read(ctx, "read the hub's id", "hub id", selectHubID, nil, &id)
	return id, err
}

// Now implements hub.Store: the store's clock is this machine's.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	return time.Now().UTC().Truncate(time.Microsecond), ctx.Err()
}

// Ping implements hub.Store. It takes the write lock, and writes only after a
// write has failed: a disk may be full for all writes but the smallest.
func (s *Store) Ping(ctx context.Context) error {
	var version int64
	err := s.write(ctx, "ping", func(t *tx) error {
		if t.w.failed {
			if _, err := t.exec(tryWrite); err != nil {
				return err
			}
		}
		return t.row(selectVersion).Scan(&version)
	})
	if err != nil {
		return err
	}
	if latest := migrations.Latest(migrations.SQLite); version < latest {
		return (&hub.Error{
			Code: hub.Unavailable, Message: "the database's schema is not the one of this program",
			Err: &migrations.NewerError{Current: version, Latest: latest},
		}).WithHint("another program has migrated it; restart the hub")
	}
	return nil
}

// Notify implements hub.Store: there is no other hub to tell.
func (s *Store) Notify(ctx context.Context, _ []hub.Hint) error { return ctx.Err() }

// Listen implements hub.Store: there is no other hub to hear.
func (s *Store) Listen(ctx context.Context, _ func(hub.Hint)) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.closed.Done():
		return s.failure(ctx, "listen", errClosed)
	}
}

const (
	selectHubID   = `SELECT value FROM meta WHERE key = 'hub_id'`
	selectVersion = `SELECT max(version_id) FROM goose_db_version`
	tryWrite      = `INSERT INTO meta (key, value) VALUES ('try_write', hex(randomblob(16384)))
		ON CONFLICT (key) DO UPDATE SET value = excluded.value`
)

// rowScanner is a *sql.Row or *sql.Rows.
type rowScanner interface{ Scan(dest ...any) error }

var _, _ rowScanner = (*sql.Row)(nil), (*sql.Rows)(nil)
