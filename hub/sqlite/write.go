package sqlite

import (
	"context"
	"database/sql"
	"errors"
)

// writer is the one connection that writes. Its statements are prepared once.
type writer struct {
	turn chan struct{} // holds one token
	db   *sql.DB
	conn *sql.Conn
	// What follows belongs to whoever has the token.
	stmts  map[string]*sql.Stmt // by their text
	failed bool                 // the disk refused the last write
	gone   bool                 // closed
}

func newWriter(db *sql.DB, conn *sql.Conn) *writer {
	w := &writer{turn: make(chan struct{}, 1), db: db, conn: conn, stmts: map[string]*sql.Stmt{}}
	w.turn <- struct{}{}
	return w
}

func (w *writer) Close() error {
	<-w.turn
	defer func() { w.turn <- struct{}{} }()
	w.gone = true
	errs := make([]error, 0, len(w.stmts)+2)
	for _, s := range w.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, w.conn.Close(), w.db.Close())...)
}

// tx is a write transaction. Statements run on behalf of no caller's context: each is
// short, and one that was cut off would leave open what became of the rest.
type tx struct {
	ctx context.Context
	w   *writer
}

// write runs f in one transaction, which is committed when f returns nil. A
// caller that gives up while it waits for its turn has changed nothing; later it gets the answer.
func (s *Store) write(ctx context.Context, doing string, f func(t *tx) error) error {
	w := s.writer
	select {
	case <-w.turn:
	case <-ctx.Done():
		return s.failure(ctx, doing, ctx.Err())
	}
	defer func() { w.turn <- struct{}{} }()
	if w.gone {
		return s.failure(ctx, doing, errClosed)
	}
	if err := ctx.Err(); err != nil {
		return s.failure(ctx, doing, err)
	}
	err := (&tx{ctx: context.WithoutCancel(ctx), w: w}).run(f)
	switch {
	case err == nil:
		w.failed = false
	case diskFailure(err):
		w.failed = true
	}
	return s.failure(ctx, doing, err)
}

func (t *tx) run(f func(t *tx) error) (err error) {
	if _, err := t.exec(`BEGIN IMMEDIATE`); err != nil {
		return err
	}
	done := false
	defer func() {
		if !done { // also when f panics
			// A full disk may have rolled it back already, which is no error of ours.
			_, _ = t.exec(`ROLLBACK`)
		}
	}()
	if err := f(t); err != nil {
		return err
	}
	if _, err := t.exec(`COMMIT`); err != nil {
		return err
	}
	done = true
	return nil
}

func (t *tx) stmt(query string) (statement, error) {
	if s, ok := t.w.stmts[query]; ok {
		return s, nil
	}
	s, err := t.w.conn.PrepareContext(t.ctx, query)
	if err == nil {
		t.w.stmts[query] = s
	}
	return s, err
}

// exec runs a statement and returns how many rows it wrote.
func (t *tx) exec(query string, args ...any) (int64, error) {
	s, err := t.stmt(query)
	if err != nil {
		return 0, err
	}
	r, err := s.ExecContext(t.ctx, args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// row runs a query for one row. Its error comes from Scan.
func (t *tx) row(query string, args ...any) rowScanner {
	s, err := t.stmt(query)
	if err != nil {
		return failedRow{err}
	}
	return s.QueryRowContext(t.ctx, args...)
}

type failedRow struct{ err error }

func (r failedRow) Scan(...any) error { return r.err }
