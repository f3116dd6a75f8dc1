package cache_test

import (
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/runnerhub/runnerhub/runnerctl/cache"
	"github.com/runnerhub/runnerhub/topology"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(victimDir); dir != "" {
		writeForEver(dir)
	}
	goleak.VerifyTestMain(m)
}

// shop is a store on a clock of its own, which goes on by a second whenever it is looked at.
type shop struct {
	*testing.T
	*cache.Store
	dir  string
	said []string
}

const mib = 1 << 20

func newShop(t *testing.T, o cache.Options) *shop {
	t.Helper()
	if o.Dir == "" {
		o.Dir = filepath.Join(t.TempDir(), "cache")
	}
	if o.Size == 0 {
		o.Size = mib
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	o.Now = func() time.Time { now = now.Add(time.Second); return now }
	return &shop{T: t, Store: cache.New(o), dir: o.Dir}
}

func id(key string) topology.CacheID { return topology.CacheID{Key: key, Paths: []string{"~/x"}} }

func (s *shop) mine() topology.Cache { return s.For("hub", "wsp_1/usr_1", "job_1") }

// save keeps text under a key.
func (s *shop) save(key, text string) {
	s.Helper()
	if err := save(s.mine(), id(key), text); err != nil {
		s.Fatal(err)
	}
}

func save(c topology.Cache, id topology.CacheID, text string) error {
	w, err := c.Create(id)
	if err != nil {
		return err
	}
	defer w.Discard()
	if err := w.Reserve(int64(len(text))); err != nil {
		return err
	}
	if _, err := io.WriteString(w, text); err != nil {
		return err
	}
	return w.Commit()
}

// open opens an entry, or returns nil.
func (s *shop) open(c topology.Cache, id topology.CacheID, prefixes ...string) topology.CacheEntry {
	s.Helper()
	e, err := c.Open(s.Context(), id, prefixes, func(line string) { s.said = append(s.said, line) })
	if err != nil {
		s.Fatal(err)
	}
	return e
}

// read is "KEY: TEXT" of an entry, "" for none.
func (s *shop) read(c topology.Cache, id topology.CacheID, prefixes ...string) string {
	s.Helper()
	e := s.open(c, id, prefixes...)
	if e == nil {
		return ""
	}
	defer e.Close()
	text, err := io.ReadAll(e)
	if err != nil {
		s.Fatal(err)
	}
	return e.Key() + ": " + string(text)
}

// want compares what is found for a key.
func (s *shop) want(key, want string, prefixes ...string) {
	s.Helper()
	if got := s.read(s.mine(), id(key), prefixes...); got != want {
		s.Errorf("%s with %v: got %q, want %q", key, prefixes, got, want)
	}
}

// keys are those of all entries, the last used first.
func (s *shop) keys() string {
	s.Helper()
	all, err := s.List()
	if err != nil {
		s.Fatal(err)
	}
	var keys []string
	for _, e := range all {
		keys = append(keys, e.Key)
	}
	return strings.Join(keys, " ")
}

// empty fails the test unless nothing is being written, and nothing is left of what was.
func (s *shop) empty() {
	s.Helper()
	left, err := os.ReadDir(filepath.Join(s.dir, "new"))
	if err != nil && !os.IsNotExist(err) {
		s.Fatal(err)
	}
	for _, d := range left {
		s.Errorf("%s is left", d.Name())
	}
}

// noise is text that does not become shorter, and is the same each time.
func noise(seed byte, bytes int) string {
	text := make([]byte, bytes)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(text) // which never fails
	return string(text)
}
