package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/runnerhub/runnerhub/hub"
)

// reader is a pool of connections that read. Its statements are prepared once
// for each connection.
type reader struct {
	db    *sql.DB
	mu    sync.Mutex
	stmts map[string]*sql.Stmt // by their text; nil once closed
}

func newReader(db *sql.DB, conns int) *reader {
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return &reader{db: db, stmts: map[string]*sql.Stmt{}}
}

func (r *reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	errs := make([]error, 0, len(r.stmts)+1)
	for _, s := range r.stmts {
		errs = append(errs, s.Close())
	}
	r.stmts = nil
	return errors.Join(append(errs, r.db.Close())...)
}

// statement is a *sql.Stmt that is kept for the next call, and so is not to be closed.
type statement interface {
	ExecContext(ctx context.Context, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, args ...any) *sql.Row
}

func (r *reader) stmt(ctx context.Context, query string) (statement, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stmts == nil {
		return nil, errClosed
	}
	if s, ok := r.stmts[query]; ok {
		return s, nil
	}
	s, err := r.db.PrepareContext(ctx, query)
	if err == nil {
		r.stmts[query] = s
	}
	return s, err
}

// read reads one row into dest; none is NotFound.
func (s *Store) read(ctx context.Context, doing, what, query string, args []any, dest ...any) error {
	return s.readRow(ctx, doing, what, query, args, func(r rowScanner) error { return r.Scan(dest...) })
}

// readRow reads one row by scan; none is NotFound.
func (s *Store) readRow(ctx context.Context, doing, what, query string, args []any, scan func(rowScanner) error) error {
	st, err := s.reader.stmt(ctx, query)
	if err != nil {
		return s.failure(ctx, doing, err)
	}
	return s.failure(ctx, doing, missing(scan(st.QueryRowContext(ctx, args...)), what))
}

// missing turns "no rows" into NotFound.
func missing(err error, what string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return hub.Errorf(hub.NotFound, "no such %s", what)
	}
	return err
}

// readAll reads all rows by scan, which is called once a row.
func readAll[T any](ctx context.Context, s *Store, doing, query string, args []any, scan func(rowScanner) (T, error)) ([]T, error) {
	st, err := s.reader.stmt(ctx, query)
	if err != nil {
		return nil, s.failure(ctx, doing, err)
	}
	rows, err := st.QueryContext(ctx, args...)
	if err != nil {
		return nil, s.failure(ctx, doing, err)
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, s.failure(ctx, doing, err)
		}
		out = append(out, v)
	}
	return out, s.failure(ctx, doing, rows.Err())
}
