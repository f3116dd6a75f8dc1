package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/migrations"
)

// failure makes of a driver's error what callers of a store may see. The
// domain's own errors, and the end of the caller's context, pass as they are.
func (s *Store) failure(ctx context.Context, doing string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*hub.Error](err); ok || errors.Is(err, hub.ErrConflict) {
		return err
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		if known := s.known(doing, e, err); known != nil {
			return known
		}
	}
	if newer, ok := errors.AsType[*migrations.NewerError](err); ok {
		e := hub.Errorf(hub.Conflict, "the store %s was written by a newer version of this program", s.path).
			WithHint("start the newer version, or restore a backup made before the upgrade")
		e.Err = newer
		return e
	}
	if errors.Is(err, errClosed) || errors.Is(err, sql.ErrConnDone) || s.closed != nil && s.closed.Err() != nil {
		return s.unavailable(doing, err, "the hub is stopping")
	}
	if ctx.Err() != nil {
		return fmt.Errorf("sqlite: %s: %w", doing, context.Cause(ctx))
	}
	return fmt.Errorf("sqlite: %s: %w", doing, err)
}

// diskFailure says that the disk is full or broken.
func diskFailure(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && (e.Code()&0xff == sqlite3.SQLITE_FULL || e.Code()&0xff == sqlite3.SQLITE_IOERR)
}

// busy says that another connection has the file or one of its tables.
func busy(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && (e.Code()&0xff == sqlite3.SQLITE_BUSY || e.Code()&0xff == sqlite3.SQLITE_LOCKED)
}

func (s *Store) unavailable(doing string, err error, hint string) *hub.Error {
	return &hub.Error{
		Code: hub.Unavailable, Message: "the store is not available (" + doing + ")", Hint: hint,
		Retryable: true, RetryAfter: time.Second, Err: err,
	}
}

// known tells the errors apart that a person can do something about. Nothing of a failed transaction is kept.
func (s *Store) known(doing string, e *sqlite.Error, err error) error {
	switch e.Code() & 0xff { // the primary code; https://www.sqlite.org/rescode.html
	case sqlite3.SQLITE_CONSTRAINT:
		if v := violation(e); v != nil {
			v.Err = err
			return v
		}
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return s.unavailable(doing, err, "another process is writing to "+s.path+"; try again")
	case sqlite3.SQLITE_FULL:
		return s.unavailable(doing, err, "the disk is full; make room where "+s.path+" is. What was answered before is safe")
	case sqlite3.SQLITE_IOERR:
		return s.unavailable(doing, err, "the disk does not work or is full; look at the system's log and make room where "+s.path+" is")
	case sqlite3.SQLITE_NOMEM:
		return s.unavailable(doing, err, "the machine is out of memory")
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		f := s.unavailable(doing, err, "the hub must be able to write to "+s.path+" and to make files beside it; see who owns the folder")
		f.Retryable, f.RetryAfter = false, 0
		return f
	case sqlite3.SQLITE_NOTADB:
		f := hub.Errorf(hub.Conflict, "%s is not a database", s.path).
			WithHint("name another file with --database sqlite://PATH; nothing was changed in this one")
		f.Err = err
		return f
	case sqlite3.SQLITE_CORRUPT:
		f := s.unavailable(doing, err, "the file "+s.path+" is damaged; stop the hub and restore it from a backup, or save what can be read with `sqlite3 FILE .recover`")
		f.Retryable, f.RetryAfter = false, 0
		return f
	}
	return nil
}

// violation says in the domain's words which rule a write would have broken, by the columns that SQLite names.
// Nil: a bug, and none of the caller's doing.
func violation(e *sqlite.Error) *hub.Error {
	switch e.Code() {
	case sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
		return hub.Errorf(hub.NotFound, "no such user or workspace") // the other parents are written in the same transaction
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
	default:
		return nil
	}
	_, columns, _ := strings.Cut(e.Error(), "UNIQUE constraint failed: ")
	columns, _, _ = strings.Cut(columns, " (")
	switch columns {
	case "users.login":
		return hub.Errorf(hub.Conflict, "the login is taken").WithHint("choose another login")
	case "workspaces.slug":
		return hub.Errorf(hub.Conflict, "the slug is taken").WithHint("choose another slug")
	case "runners.owner, runners.label":
		return hub.Errorf(hub.Conflict, "the owner has a runner with that label").
			WithHint("choose another label, or revoke the runner that has it")
	case "pairings.code_digest":
		return hub.Errorf(hub.Conflict, "the pairing code is in use").WithHint("draw another code")
	case "attempts.job_id":
		return nil // two live attempts: a bug
	}
	return hub.Errorf(hub.Conflict, "the id or secret is in use").WithHint("draw another one")
}
