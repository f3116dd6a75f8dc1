package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/runnerhub/runnerhub/hub"
)

// The SQLSTATEs that are told apart; https://www.postgresql.org/docs/current/errcodes-appendix.html.
const (
	stateUniqueViolation  = "23505"
	stateForeignKey       = "23503"
	stateReadOnly         = "25006" // a standby, or a server that was told to be read-only
	stateBadText          = "22021" // a zero byte, or no UTF-8
	stateCachedPlan       = "0A000" // "cached plan must not change result type": a migration ran
	stateSerialization    = "40001"
	stateDeadlock         = "40P01"
	stateDiskFull         = "53100"
	stateTooManyClients   = "53300"
	stateLockNotAvailable = "55P03" // lock_timeout
	stateQueryCanceled    = "57014" // statement_timeout, or somebody canceled it
	stateAdminShutdown    = "57P01" // also pg_terminate_backend
	stateCannotConnectNow = "57P03" // starting up or shutting down
	stateUndefinedTable   = "42P01"
	stateNoDatabase       = "3D000"
	stateBadPassword      = "28P01"
	stateBadAuthorization = "28000"
)

// failure makes of a driver's error what callers of a store may see. The
// domain's own errors, and the end of the caller's context, pass as they are.
func failure(ctx context.Context, doing string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*hub.Error](err); ok || errors.Is(err, hub.ErrConflict) {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("postgres: %s: %w", doing, context.Cause(ctx))
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return serverError(doing, pg, err)
	}
	if lost(err) {
		return unavailable(doing, err).
			WithHint("see whether PostgreSQL runs and can be reached from this hub; the hub reconnects by itself")
	}
	return fmt.Errorf("postgres: %s: %w", doing, err)
}

func serverError(doing string, pg *pgconn.PgError, err error) error {
	switch {
	case pg.Code == stateUniqueViolation && pg.ConstraintName == "jobs_group":
		return hub.ErrGroupBusy
	case pg.Code == stateUniqueViolation || pg.Code == stateForeignKey:
		if e := violation(pg); e != nil {
			e.Err = err
			return e
		}
	case pg.Code == stateBadText:
		return &hub.Error{Code: hub.InvalidArgument, Message: "text must be UTF-8 without zero bytes", Err: err}
	case pg.Code == stateDiskFull:
		return unavailable(doing, err).
			WithHint("the database's disk is full; make room for PostgreSQL's data directory and write-ahead log")
	case pg.Code == stateTooManyClients:
		return unavailable(doing, err).
			WithHint("raise max_connections of PostgreSQL, or lower pool_max_conns in the hub's database URL")
	case pg.Code == stateReadOnly:
		return unavailable(doing, err).
			WithHint("the server takes no writes: point the hub's database URL at the primary")
	case pg.Code == stateQueryCanceled, pg.Code == stateLockNotAvailable:
		return unavailable(doing, err).
			WithHint("the database took too long; look for long transactions in pg_stat_activity")
	case pg.Code == stateUndefinedTable:
		return unavailable(doing, err).WithHint("the schema is not there; run `runnerhub migrate up`")
	case pg.Code == stateBadPassword, pg.Code == stateBadAuthorization, pg.Code == stateNoDatabase:
		return unavailable(doing, err).WithHint("check user, password and database name in the hub's database URL")
	case rolledBack(err), gone(pg), pg.Code == stateCannotConnectNow:
		return unavailable(doing, err).
			WithHint("PostgreSQL was restarted or is busy; the hub goes on by itself once it is back")
	}
	return fmt.Errorf("postgres: %s: %w", doing, err)
}

func unavailable(doing string, err error) *hub.Error {
	return &hub.Error{
		Code: hub.Unavailable, Message: "the database is not available (" + doing + ")",
		Retryable: true, RetryAfter: time.Second, Err: err,
	}
}

// rolledBack says that the server itself has undone the statement, for a reason
// that a second try may not meet.
func rolledBack(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pg.Code == stateSerialization || pg.Code == stateDeadlock || pg.Code == stateCachedPlan)
}

// gone says that the server ended the connection. Whether a commit that was under way took
// effect is then not known: the word can come before and after it.
func gone(pg *pgconn.PgError) bool {
	return len(pg.Code) == 5 && (pg.Code[:3] == "57P" || pg.Code[:2] == "08" || pg.Code[:2] == "53" || pg.Code[:2] == "58")
}

// lost says that the connection broke, or could not be made or had in time.
func lost(err error) bool {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNREFUSED) ||
		errors.Is(err, context.DeadlineExceeded) || pgconn.Timeout(err) || pgconn.SafeToRetry(err)
}

// missing turns "no rows" into NotFound.
func missing(err error, what string) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return notFound(what)
	}
	return err
}

func notFound(what string) error { return hub.Errorf(hub.NotFound, "no such %s", what) }

// schemaError says that migrations are missing.
type schemaError struct{ current, want int64 }

func (e *schemaError) Error() string {
	return fmt.Sprintf("the schema has version %d and this program needs %d", e.current, e.want)
}

// violation says in the domain's words which rule a write would have broken, by the constraint's name in
// migrations. Nil: a bug, and none of the caller's doing.
func violation(pg *pgconn.PgError) *hub.Error {
	switch pg.ConstraintName {
	case "users_login_key":
		return hub.Errorf(hub.Conflict, "the login is taken").WithHint("choose another login")
	case "workspaces_slug_key":
		return hub.Errorf(hub.Conflict, "the slug is taken").WithHint("choose another slug")
	case "runners_label":
		return hub.Errorf(hub.Conflict, "the owner has a runner with that label").
			WithHint("choose another label, or revoke the runner that has it")
	case "members_user_id_fkey", "api_keys_user_id_fkey":
		return hub.Errorf(hub.NotFound, "no such user")
	case "members_workspace_id_fkey":
		return hub.Errorf(hub.NotFound, "no such workspace")
	case "pairings_code":
		return hub.Errorf(hub.Conflict, "the pairing code is in use").WithHint("draw another code")
	case "jobs_pkey", "job_payloads_pkey", "users_pkey", "workspaces_pkey", "api_keys_pkey", "runners_pkey", "pairings_pkey",
		"api_keys_digest_key", "runners_token_digest_key", "pairings_token", "attempts_log":
		return hub.Errorf(hub.Conflict, "the id or secret is in use").WithHint("draw another one")
	}
	return nil
}
