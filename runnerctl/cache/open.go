package cache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/runnerhub/runnerhub/topology"
)

// window bounds the memory that reading an entry takes.
const window = 64 << 20

// Open opens the entry of a key, or the newest of the first prefix that there is one for.
func (s *scope) Open(ctx context.Context, id topology.CacheID, prefixes []string, say func(string)) (topology.CacheEntry, error) {
	if _, err := os.Stat(s.store.entries()); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for {
		r, err := s.find(id, prefixes, say)
		if err != nil || r == nil {
			return nil, err
		}
		// All of it is read before a byte is given out: nobody gets half of an entry.
		bad := r.check(ctx)
		switch {
		case ctx.Err() != nil:
			_ = r.Close()
			return nil, context.Cause(ctx)
		case bad == nil:
			return r, nil
		}
		say(fmt.Sprintf("the entry %s is damaged and is removed: %v", r.entry.Key, bad))
		if err := errors.Join(r.Remove(), r.Close()); err != nil {
			return nil, err
		}
	}
}

// find opens the best entry that there is, nil for none, and keeps it from being removed.
func (s *scope) find(id topology.CacheID, prefixes []string, say func(string)) (r *reader, err error) {
	want := newEntry(s, id)
	err = s.store.locked(func() error {
		dir := filepath.Join(s.store.entries(), want.ID)
		e, err := load(dir)
		switch {
		case err == nil:
			r, err = s.store.read(e)
			return err
		case !errors.Is(err, os.ErrNotExist):
			say(fmt.Sprintf("its entry is damaged and is removed: %v", err))
			if err := s.store.remove(dir); err != nil {
				return err
			}
		}
		if len(prefixes) == 0 {
			return nil
		}
		all, _, err := s.store.scan()
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(e Entry) bool { return !e.alike(want) })
		if e, ok := newest(all, prefixes); ok {
			r, err = s.store.read(e)
		}
		return err
	})
	return r, err
}

// newest is the newest entry of the first prefix that any of their keys begins with.
func newest(all []Entry, prefixes []string) (best Entry, ok bool) {
	for _, prefix := range prefixes {
		for _, e := range all {
			if strings.HasPrefix(e.Key, prefix) && (!ok || e.Created.After(best.Created)) {
				best, ok = e, true
			}
		}
		if ok {
			break
		}
	}
	return best, ok
}

// read opens an entry. It wants the lock held.
func (s *Store) read(e Entry) (*reader, error) {
	name := filepath.Join(s.entries(), e.ID, "data")
	data, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	if err := lockShared(data); err != nil {
		_ = data.Close()
		return nil, err
	}
	now := s.o.Now()
	if err := os.Chtimes(name, now, now); err != nil {
		_ = data.Close()
		return nil, err
	}
	return &reader{store: s, entry: e, data: data}, nil
}

// reader is an entry that is open.
type reader struct {
	store *Store
	entry Entry
	data  *os.File
	plain *zstd.Decoder
}

// check reads all of it and compares.
func (r *reader) check(ctx context.Context) error {
	sum := sha256.New()
	if _, err := io.Copy(sum, &untilEnd{ctx, r.data}); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != r.entry.SHA256 {
		return errors.New("its bytes are not those that were saved")
	}
	if _, err := r.data.Seek(0, io.SeekStart); err != nil {
		return err
	}
	var err error
	r.plain, err = zstd.NewReader(r.data, zstd.WithDecoderMaxWindow(window), zstd.WithDecoderConcurrency(1))
	return err
}

// untilEnd reads until a context ends.
type untilEnd struct {
	ctx  context.Context
	from io.Reader
}

func (u *untilEnd) Read(b []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.from.Read(b)
}

// Read reads the tar stream.
func (r *reader) Read(b []byte) (int, error) { return r.plain.Read(b) }

// Key is the entry's.
func (r *reader) Key() string { return r.entry.Key }

// Remove removes the entry; another one who reads it goes on, and it stays until then.
func (r *reader) Remove() error {
	return r.store.locked(func() error {
		_ = r.data.Close() // and with it the lock: for this reader it is of no use
		err := r.store.removeEntry(r.entry)
		if errors.Is(err, errInUse) {
			return nil
		}
		return err
	})
}

// Close ends the reading.
func (r *reader) Close() error {
	if r.plain != nil {
		r.plain.Close()
	}
	if err := r.data.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

func (s *Store) removeEntry(e Entry) error { return s.remove(filepath.Join(s.entries(), e.ID)) }
