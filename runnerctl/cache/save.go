package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"os"
	"path/filepath"

	"github.com/docker/go-units"
	"github.com/klauspost/compress/zstd"

	"github.com/runnerhub/runnerhub/topology"
)

// Create begins an entry.
func (s *scope) Create(id topology.CacheID) (topology.CacheWriter, error) {
	store := s.store
	w := &writer{store: store, entry: newEntry(s, id), sum: sha256.New()}
	for _, dir := range []string{store.entries(), store.fresh()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	err := store.locked(func() (err error) {
		if err := w.there(); err != nil {
			return err
		}
		if w.dir, err = os.MkdirTemp(store.fresh(), "save-"); err != nil {
			return err
		}
		if w.data, err = os.OpenFile(filepath.Join(w.dir, "data"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			err = lockAlone(w.data)
		}
		return err
	})
	if err == nil {
		// Speed counts: what a job waits for is the saving, and a network is not in the way.
		w.packed, err = zstd.NewWriter(w.stored(), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(2))
	}
	if err != nil {
		w.Discard()
		return nil, err
	}
	return w, nil
}

// writer is an entry in the making.
type writer struct {
	store    *Store
	entry    Entry
	dir      string
	data     *os.File
	packed   *zstd.Encoder
	sum      hash.Hash
	reserved int64
	done     bool
}

// there is ErrCached when the entry is there.
func (w *writer) there() error {
	_, err := load(filepath.Join(w.store.entries(), w.entry.ID))
	if err == nil {
		return topology.ErrCached
	}
	return nil
}

// Reserve counts the files of the entry.
func (w *writer) Reserve(bytes int64) error {
	w.reserved += bytes
	if limit := w.store.o.Size * unpacked; w.reserved > limit {
		return fmt.Errorf("its files have more than %s, which is %d times the size of the cache", units.BytesSize(float64(limit)), unpacked)
	}
	return nil
}

// Write takes a part of the tar stream.
func (w *writer) Write(b []byte) (int, error) { return w.packed.Write(b) }

// stored is where compressed bytes go.
func (w *writer) stored() storedBytes { return storedBytes{w} }

type storedBytes struct{ w *writer }

func (s storedBytes) Write(b []byte) (int, error) {
	w := s.w
	if w.entry.Stored += int64(len(b)); w.entry.Stored > w.store.o.Size {
		return 0, fmt.Errorf("it is larger than the whole cache may be (%s)", units.BytesSize(float64(w.store.o.Size)))
	}
	n, err := w.store.o.Write(w.data, b)
	w.sum.Write(b[:n])
	return n, err
}

// Commit makes the entry one that others see.
func (w *writer) Commit() error {
	defer w.Discard()
	if err := w.packed.Close(); err != nil {
		return err
	}
	w.entry.Bytes, w.entry.SHA256 = w.reserved, hex.EncodeToString(w.sum.Sum(nil))
	text, err := json.MarshalIndent(w.entry, "", "  ")
	if err != nil {
		return err
	}
	if err := w.describe(text); err != nil {
		return err
	}
	if err := errors.Join(w.data.Sync(), syncDir(w.dir)); err != nil {
		return err
	}
	return w.store.locked(func() error {
		if err := w.there(); err != nil {
			return err
		}
		to := filepath.Join(w.store.entries(), w.entry.ID)
		if err := w.store.remove(to); err != nil { // what is there is no entry
			return err
		}
		enough, err := w.store.room(w.entry.Stored)
		if err == nil && !enough {
			err = errors.New("there is no room in the cache: all that is in it is in use")
		}
		if err != nil {
			return err
		}
		_ = w.data.Close()                                                                  // a system may not rename what is open
		if err := os.Chtimes(w.data.Name(), w.entry.Created, w.entry.Created); err != nil { // its first use
			return err
		}
		if err := os.Rename(w.dir, to); err != nil {
			return err
		}
		w.done = true
		return syncDir(w.store.entries())
	})
}

// describe writes what the entry is.
func (w *writer) describe(text []byte) error {
	f, err := os.OpenFile(filepath.Join(w.dir, "entry.json"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = w.store.o.Write(f, text)
	return errors.Join(err, f.Sync(), f.Close())
}

// Discard removes what was written, unless it was kept.
func (w *writer) Discard() {
	if w.packed != nil {
		_ = w.packed.Close() // frees what it has; after Commit it has nothing
		w.packed = nil
	}
	if w.data != nil {
		_ = w.data.Close()
	}
	if w.dir != "" && !w.done {
		_ = os.RemoveAll(w.dir) // what stays is swept
	}
	w.dir = ""
}
