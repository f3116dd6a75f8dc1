package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/storetest"
)

const insertNote = `INSERT INTO meta (key, value) VALUES (?, 'x')`

// group has a store's writer busy until release is called, and adds callers whose writes then share one transaction.
type group struct {
	t       *testing.T
	s       *Store
	release func()
	all     sync.WaitGroup
	errs    map[string]*error // by caller
}

func newGroup(t *testing.T, opts Options) *group {
	t.Helper()
	g := &group{t: t, s: open(t, filepath.Join(t.TempDir(), "hub.db"), opts), errs: map[string]*error{}}
	held := make(chan struct{})
	g.release = sync.OnceFunc(func() { close(held) })
	g.add("first", t.Context(), func(*tx) error { <-held; return nil })
	return g
}

// add starts a caller, and returns once it waits. Callers are served in their order.
func (g *group) add(name string, ctx context.Context, f func(t *tx) error) { //nolint:revive // the test's context is not the caller's
	err := new(error)
	g.errs[name] = err
	g.all.Go(func() { *err = g.s.write(ctx, name, f) })
	synctest.Wait()
}

// note writes a row with the caller's name.
func (g *group) note(name string, then ...func(t *tx) error) {
	g.add(name, g.t.Context(), func(t *tx) error {
		if _, err := t.exec(insertNote, name); err != nil {
			return err
		}
		for _, f := range then {
			if err := f(t); err != nil {
				return err
			}
		}
		return nil
	})
}

// committed says whether the row of a caller can be seen from outside the transaction.
func (g *group) committed(name string) bool {
	g.t.Helper()
	var n int
	if err := g.s.read(context.Background(), "look", "note", `SELECT count(*) FROM meta WHERE key = ?`, []any{name}, &n); err != nil {
		g.t.Error(err)
	}
	return n > 0
}

// want compares what callers got and what was kept.
func (g *group) want(name string, err error, kept bool) {
	g.t.Helper()
	if got := *g.errs[name]; !errors.Is(got, err) {
		g.t.Errorf("%s got error %v, want %v", name, got, err)
	}
	if g.committed(name) != kept {
		g.t.Errorf("%s: its row is there: %v, want %v", name, !kept, kept)
	}
}

var errTest = errors.New("no")

func TestGroupIsAnsweredAfterItsCommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, Options{})
		looked, last := make(chan struct{}), make(chan struct{})
		g.note("a")
		g.note("b", func(*tx) error { close(looked); <-last; return nil })
		g.release()
		<-looked // both have written, and nothing is committed
		synctest.Wait()
		if *g.errs["a"] != nil || g.committed("a") {
			t.Error("a row of a transaction under way was seen")
		}
		answered := make(chan struct{})
		go func() { g.all.Wait(); close(answered) }()
		synctest.Wait()
		select {
		case <-answered:
			t.Error("a write was answered before its commit")
		default:
		}
		close(last)
		<-answered
		g.want("a", nil, true)
		g.want("b", nil, true)
	})
}

func TestWriteFailsAloneInItsGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, Options{})
		sees := func(names ...string) func(t *tx) error {
			return func(t *tx) error {
				for _, name := range names {
					var n int
					if err := t.row(`SELECT count(*) FROM meta WHERE key = ?`, name).Scan(&n); err != nil || n == 0 {
						return errors.Join(errors.New(name+" is in another transaction"), err)
					}
				}
				return nil
			}
		}
		g.note("before")
		g.note("failing", func(*tx) error { return errTest })
		g.add("conflict", t.Context(), func(t *tx) error {
			if _, err := t.exec(insertNote, "conflict"); err != nil {
				return err
			}
			return t.one(`UPDATE meta SET value = 'y' WHERE key = 'nobody'`)
		})
		g.note("after", func(tx *tx) error {
			if g.committed("before") {
				t.Error("the first write of the group was committed before the last was made")
			}
			return sees("before")(tx)
		})
		g.release()
		g.all.Wait()
		g.want("before", nil, true)
		g.want("failing", errTest, false)
		g.want("conflict", hub.ErrConflict, false)
		g.want("after", nil, true)
	})
}

func TestCallerGivesUpBeforeItsTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, Options{})
		ctx, cancel := context.WithCancel(t.Context())
		g.add("impatient", ctx, func(*tx) error { t.Error("the write of a caller that had gone was run"); return nil })
		g.note("patient")
		cancel()
		synctest.Wait() // it is answered though the writer is busy
		if err := *g.errs["impatient"]; !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that gave up got %v", err)
		}
		late, stop := context.WithCancel(t.Context())
		g.add("late", late, func(tx *tx) error {
			stop() // from now on it gets the answer
			_, err := tx.exec(insertNote, "late")
			return err
		})
		g.release()
		g.all.Wait()
		g.want("patient", nil, true)
		g.want("late", nil, true)
	})
}

func TestLostGroupIsTriedOneByOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, Options{})
		g.note("before")
		g.note("breaking", func(t *tx) error { // as SQLite itself does when the disk is full
			_, err := t.exec(`ROLLBACK`)
			return errors.Join(errTest, err)
		})
		g.note("after")
		g.release()
		g.all.Wait()
		g.want("before", nil, true)
		g.want("breaking", errTest, false)
		g.want("after", nil, true)
	})
}

func TestPanicIsItsCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, Options{})
		g.note("before")
		var got any
		g.all.Go(func() {
			defer func() { got = recover() }()
			_ = g.s.write(t.Context(), "panic", func(tx *tx) error {
				if _, err := tx.exec(insertNote, "panicking"); err != nil {
					t.Error(err)
				}
				panic("a bug")
			})
			t.Error("the panic did not reach the caller")
		})
		synctest.Wait()
		g.note("after")
		g.release()
		g.all.Wait()
		if got != "a bug" {
			t.Errorf("the caller saw %v", got)
		}
		if g.committed("panicking") {
			t.Error("what a panic had written was kept")
		}
		g.want("before", nil, true)
		g.want("after", nil, true)
	})
}

func TestCloseAnswersThoseWhoWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, Options{})
		g.add("waiting", t.Context(), func(*tx) error { return nil })
		closed := make(chan error, 1)
		go func() { closed <- g.s.Close() }()
		synctest.Wait()
		if code := hub.CodeOf(*g.errs["waiting"]); code != hub.Unavailable {
			t.Errorf("a write that waited when the store was closed got %v", *g.errs["waiting"])
		}
		g.release()
		g.all.Wait()
		if err := errors.Join(<-closed, *g.errs["first"]); err != nil {
			t.Errorf("the write under way: %v", err)
		}
	})
}

// TestManyWritersAreAllKept has many callers at once, of whom some are refused.
func TestManyWritersAreAllKept(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "hub.db"), Options{})
	const callers, each = 32, 10
	owner := hub.UserOwner("usr_many")
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range each {
				p := storetest.NewJob(owner, "")
				if _, _, err := s.Enqueue(t.Context(), p); err != nil {
					t.Error(err)
				} else if _, err := s.GetJob(t.Context(), p.Job.ID); err != nil {
					t.Errorf("a job was answered and is not there: %v", err)
				}
				if _, _, err := s.Enqueue(t.Context(), p); hub.CodeOf(err) != hub.Conflict {
					t.Errorf("an id was used twice: %v", err)
				}
			}
		})
	}
	all.Wait()
	queued, err := s.ListQueued(t.Context(), hub.NewQueueKey(owner, ""), nil, 2*callers*each)
	if err != nil || len(queued) != callers*each {
		t.Errorf("%d jobs are queued, want %d; %v", len(queued), callers*each, err)
	}
}
