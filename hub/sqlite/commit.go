package sqlite

import (
	"context"
	"errors"
	"slices"
)

// maxGroup bounds how many writes share a transaction, and with it how long the first of them waits for the last.
const maxGroup = 256

// op is a write whose caller waits for its commit.
type op struct {
	ctx      context.Context
	f        func(t *tx) error
	err      error
	panicked any           // what f panicked with
	done     chan struct{} // closed once err is the answer
}

// do has f committed. A caller that gives up while f waits for its turn has changed nothing; later it gets the answer.
func (w *writer) do(ctx context.Context, f func(t *tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	o := &op{ctx: ctx, f: f, done: make(chan struct{})}
	select {
	case w.ops <- o:
	case <-ctx.Done():
		return ctx.Err()
	case <-w.closing:
		return errClosed
	}
	<-o.done
	if o.panicked != nil {
		panic(o.panicked)
	}
	return o.err
}

// run commits what callers bring until the writer is closed. A commit costs a sync of the disk, whatever is in it, so
// everything that has queued up meanwhile shares the next one. Nothing waits for company: a lone write is committed at once.
func (w *writer) run() {
	defer close(w.ended)
	for {
		select {
		case o := <-w.ops:
			w.commit(w.gather(o))
		case <-w.closing:
			return
		}
	}
}

// gather takes what callers hold out at this moment.
func (w *writer) gather(first *op) []*op {
	group := []*op{first}
	for len(group) < w.most {
		select {
		case o := <-w.ops:
			group = append(group, o)
		default:
			return group
		}
	}
	return group
}

// commit answers a group.
func (w *writer) commit(group []*op) {
	defer func() {
		for _, o := range group {
			close(o.done)
		}
	}()
	if len(group) == 1 || errors.Is(w.together(group), errLost) {
		for _, o := range group {
			o.err = w.alone(o)
		}
	}
	full := func(o *op) bool { return diskFailure(o.err) }
	kept := func(o *op) bool { return o.err == nil }
	w.failed = slices.ContainsFunc(group, full) || w.failed && !slices.ContainsFunc(group, kept)
}

// errLost says that the transaction of a group is gone: nothing of it was kept, and each write is to be tried alone.
var errLost = errors.New("sqlite: the transaction was rolled back")

// together runs a group in one transaction, each write behind a savepoint, so that one that fails takes back what it
// has done and nothing else.
func (w *writer) together(group []*op) error {
	t := &tx{ctx: context.Background(), w: w}
	if _, err := t.exec(`BEGIN IMMEDIATE`); err != nil {
		_, _ = t.exec(`ROLLBACK`) // or the next one could not begin, should this one have
		for _, o := range group {
			o.err = err
		}
		return err
	}
	for _, o := range group {
		if o.err = o.ctx.Err(); o.err != nil {
			continue
		}
		if err := t.guarded(o); err != nil {
			_, _ = t.exec(`ROLLBACK`) // a full disk may have done so already, which is no error of ours
			return errLost
		}
	}
	if _, err := t.exec(`COMMIT`); err != nil {
		_, _ = t.exec(`ROLLBACK`)
		return errLost
	}
	return nil
}

// guarded runs a write behind a savepoint. What it returns is the loss of the transaction, and not the write's own error.
func (t *tx) guarded(o *op) error {
	if _, err := t.exec(`SAVEPOINT op`); err != nil {
		return err
	}
	o.err = o.call(t)
	if o.err != nil || o.panicked != nil {
		if _, err := t.exec(`ROLLBACK TO op`); err != nil {
			return err
		}
	}
	_, err := t.exec(`RELEASE op`)
	return err
}

// alone runs a write in a transaction of its own.
func (w *writer) alone(o *op) error {
	if err := o.ctx.Err(); err != nil {
		return err
	}
	t := &tx{ctx: context.Background(), w: w}
	if _, err := t.exec(`BEGIN IMMEDIATE`); err != nil {
		_, _ = t.exec(`ROLLBACK`) // or the next one could not begin, should this one have
		return err
	}
	err := o.call(t)
	if err == nil && o.panicked == nil {
		if _, err = t.exec(`COMMIT`); err == nil {
			return nil
		}
	}
	_, _ = t.exec(`ROLLBACK`) // a full disk may have done so already, which is no error of ours
	return err
}

// call runs f, which may be called again when its transaction was lost. A panic is its caller's and not the writer's.
func (o *op) call(t *tx) error {
	defer func() { o.panicked = recover() }()
	return o.f(t)
}
