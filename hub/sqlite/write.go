package sqlite

import (
	"context"
	"database/sql"
	"errors"
)

// writer is the one connection that writes, and the goroutine that has it. Its statements are prepared once.
type writer struct {
	db      *sql.DB
	conn    *sql.Conn
	most    int
	ops     chan *op
	closing chan struct{} // closed when no more writes are taken
	ended   chan struct{} // closed when the goroutine has ended
	// What follows is the goroutine's.
	stmts  map[string]*sql.Stmt // by their text
	failed bool                 // the disk has refused a write, and has taken none since
}

// newWriter makes a writer whose transactions hold at most so many writes.
func newWriter(db *sql.DB, conn *sql.Conn, most int) *writer {
	w := &writer{
		db: db, conn: conn, ops: make(chan *op), closing: make(chan struct{}), ended: make(chan struct{}),
		most: most, stmts: map[string]*sql.Stmt{},
	}
	go w.run()
	return w
}

func (w *writer) Close() error {
	close(w.closing)
	<-w.ended
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

// write runs f in a transaction that it may share with others, and returns once that is committed: nil when f's part
// is in it. f may be called a second time, when what the first call did was rolled back.
func (s *Store) write(ctx context.Context, doing string, f func(t *tx) error) error {
	return s.failure(ctx, doing, s.writer.do(ctx, f))
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
