package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync"

	"modernc.org/sqlite"
)

var errCut = errors.New("the statement was cut off")

// cutDriver is SQLite's driver with a hook around each statement.
type cutDriver struct {
	driver.Driver
	mu   sync.Mutex
	hook func(run func() error) error // nil: none
}

// registered makes cutDrivers known by names of their own.
var registered struct {
	sync.Mutex
	n int
}

func newCutDriver() (d *cutDriver, name string) {
	registered.Lock()
	defer registered.Unlock()
	registered.n++
	name = "sqlite-cut-" + string(rune('a'+registered.n))
	d = &cutDriver{Driver: &sqlite.Driver{}}
	sql.Register(name, d)
	return d, name
}

func (d *cutDriver) Open(name string) (driver.Conn, error) {
	c, err := d.Driver.Open(name)
	return &cutConn{c, d}, err
}

func (d *cutDriver) set(hook func(run func() error) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hook = hook
}

func (d *cutDriver) around(run func() error) error {
	d.mu.Lock()
	hook := d.hook
	d.mu.Unlock()
	if hook == nil {
		return run()
	}
	return hook(run)
}

// cutConn has statements prepared by database/sql, all of which then pass through cutStmt.
type cutConn struct {
	driver.Conn
	d *cutDriver
}

func (c *cutConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	s, err := c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, query)
	return &cutStmt{s, c.d}, err
}

func (c *cutConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, o)
}

type cutStmt struct {
	driver.Stmt
	d *cutDriver
}

func (s *cutStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (r driver.Result, err error) {
	err = s.d.around(func() error {
		r, err = s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
		return err
	})
	return r, err
}

func (s *cutStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (rows driver.Rows, err error) {
	err = s.d.around(func() error {
		rows, err = s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
		return err
	})
	if err != nil && rows != nil {
		err = errors.Join(err, rows.Close())
		rows = nil
	}
	return rows, err
}
