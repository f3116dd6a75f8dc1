package sqlite

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/crashtest"
)

// Each statement of each use case fails, or has worked and nobody is told: the hub lives on and must have kept nothing
// of what it was at, or all of it.
func TestEveryStatementMayFail(t *testing.T) {
	t.Parallel()
	crashtest.Run(t, func(t *testing.T) (hub.Store, crashtest.Victim) {
		d, name := newCutDriver()
		s := open(t, filepath.Join(t.TempDir(), "hub.db"), Options{driver: name})
		return s, &failing{victim{s: s, d: d}}
	})
}

// The hub is gone at each statement of each use case, before it and after it, as by kill -9: what it had written is in
// the file and its log, and nothing else is. The copy of both is opened by the next hub.
func TestEveryStatementMayBeTheLast(t *testing.T) {
	t.Parallel()
	crashtest.Run(t, func(t *testing.T) (hub.Store, crashtest.Victim) {
		d, name := newCutDriver()
		path := filepath.Join(t.TempDir(), "hub.db")
		s := open(t, path, Options{driver: name})
		return s, &killed{victim: victim{s: s, d: d}, path: path}
	})
}

// victim counts the statements of a store.
type victim struct {
	s   *Store
	d   *cutDriver
	n   int
	cut bool
}

func (v *victim) Store() hub.Store { return v.s }

func (v *victim) Disarm() bool {
	v.d.set(nil)
	return v.cut
}

func (v *victim) arm(n int, m crashtest.Moment, cut func() error) {
	v.n, v.cut = n, false
	v.d.set(func(run func() error) error {
		if v.n--; v.n != 0 {
			return run()
		}
		v.cut = true
		if m == crashtest.Before {
			if err := cut(); err != nil {
				return err
			}
			return run()
		}
		return errors.Join(run(), cut())
	})
}

type failing struct{ victim }

func (v *failing) Arm(n int, m crashtest.Moment) { v.arm(n, m, func() error { return errCut }) }

func (v *failing) Answers() bool { return true }

func (v *failing) Survivor(testing.TB) hub.Store { return v.s }

type killed struct {
	victim
	path, copied string
}

func (v *killed) Arm(n int, m crashtest.Moment) {
	v.copied = ""
	v.arm(n, m, v.copy)
}

func (v *killed) Answers() bool { return false }

// copy takes what a process that is killed now leaves behind.
func (v *killed) copy() error {
	dir, err := os.MkdirTemp(filepath.Dir(v.path), "killed-")
	if err != nil {
		return err
	}
	v.copied = filepath.Join(dir, "hub.db")
	for _, suffix := range []string{"", "-wal"} {
		if err := copyFile(v.path+suffix, v.copied+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (v *killed) Survivor(tb testing.TB) hub.Store {
	tb.Helper()
	if v.copied == "" { // it was not killed
		return v.s
	}
	dir := filepath.Dir(v.copied)
	s, err := Open(tb.Context(), v.copied, Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
		os.RemoveAll(dir)
	})
	return s
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
