package cache

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/runnerhub/runnerhub/topology"
)

// DefaultSize is how large a store is unless its owner says otherwise.
const DefaultSize = 10 << 30

// unpacked is how many times the size of a store the files of one entry may have before they are compressed.
const unpacked = 4

// Options say what a store is.
type Options struct {
	Dir string // made when the first entry comes
	// Size is the most that all entries have, compressed, in bytes. With 0 nothing is kept.
	Size int64
	Now  func() time.Time // nil is the system's
	// Write is os.File.Write, except in tests of a full disk.
	Write func(f *os.File, b []byte) (int, error)
}

// Store is a folder of entries.
type Store struct{ o Options }

// New returns the store in a folder.
func New(o Options) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Write == nil {
		o.Write = (*os.File).Write
	}
	return &Store{o}
}

// For returns the cache of one job. hub and owner say whose entries it has: those alone that were saved with the
// same two. It is nil where nothing is kept.
func (s *Store) For(hub, owner, job string) topology.Cache {
	if s.o.Size <= 0 {
		return nil
	}
	return &scope{s, hub, owner, job}
}

// scope is a store as one job sees it.
type scope struct {
	store           *Store
	hub, owner, job string
}

func (s *Store) entries() string { return filepath.Join(s.o.Dir, "entries") }

func (s *Store) fresh() string { return filepath.Join(s.o.Dir, "new") }

// locked does something while no other process looks entries up, adds or removes any.
func (s *Store) locked(do func() error) error {
	unlock, err := lockedfile.MutexAt(filepath.Join(s.o.Dir, "lock")).Lock()
	if err != nil {
		return fmt.Errorf("lock the cache: %w", err)
	}
	defer unlock()
	return do()
}

// Tidy removes what processes have left that were killed while they wrote, and what is over the store's size.
func (s *Store) Tidy() error {
	if _, err := os.Stat(s.o.Dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return s.locked(func() error {
		err := s.sweep()
		if _, roomErr := s.room(0); err == nil {
			err = roomErr
		}
		return err
	})
}

// sweep removes what nobody writes any more.
func (s *Store) sweep() error {
	list, err := os.ReadDir(s.fresh())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, d := range list {
		if removeErr := s.remove(filepath.Join(s.fresh(), d.Name())); err == nil && !errors.Is(removeErr, errInUse) {
			err = removeErr
		}
	}
	return err
}

// List returns the entries, the one that was used last first.
func (s *Store) List() ([]Entry, error) {
	if _, err := os.Stat(s.o.Dir); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var all []Entry
	err := s.locked(func() (err error) {
		all, _, err = s.scan()
		return err
	})
	return all, err
}

// Remove removes an entry by its whole id. One that is being read stays, which is an error.
func (s *Store) Remove(id string) error {
	return s.locked(func() error { return s.remove(filepath.Join(s.entries(), id)) })
}
