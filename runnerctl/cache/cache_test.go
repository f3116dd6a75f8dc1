package cache_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/runnerhub/runnerhub/runnerctl/cache"
	"github.com/runnerhub/runnerhub/topology"
)

func TestAnEntryIsFoundByItsKey(t *testing.T) {
	t.Parallel()
	s := newShop(t, cache.Options{})
	s.want("go-1", "")
	s.save("go-1", "one")
	s.want("go-1", "go-1: one")
	s.want("go-2", "")
	s.empty()
	all, err := s.List()
	if err != nil || len(all) != 1 || all[0].Bytes != 3 || all[0].Stored == 0 || all[0].Job != "job_1" || all[0].Owner != "wsp_1/usr_1" {
		t.Errorf("%+v, %v", all, err)
	}
}

// What differs in anything but the key is another's, or of no use.
func TestEntriesAreNotSharedWithOthers(t *testing.T) {
	t.Parallel()
	s := newShop(t, cache.Options{})
	s.save("go-1", "one")
	for name, tt := range map[string]struct {
		hub, owner string
		change     func(*topology.CacheID)
	}{
		"another person":      {"hub", "wsp_1/usr_2", nil},
		"another workspace":   {"hub", "wsp_2/usr_1", nil},
		"another hub":         {"hub-2", "wsp_1/usr_1", nil},
		"a cunning owner":     {"hub", "wsp_1", nil},
		"other paths":         {"hub", "wsp_1/usr_1", func(id *topology.CacheID) { id.Paths = []string{"~/y"} }},
		"more paths":          {"hub", "wsp_1/usr_1", func(id *topology.CacheID) { id.Paths = append(id.Paths, "/y") }},
		"another processor":   {"hub", "wsp_1/usr_1", func(id *topology.CacheID) { id.Platform = "linux/arm64" }},
		"another user inside": {"hub", "wsp_1/usr_1", func(id *topology.CacheID) { id.User = "1000" }},
	} {
		want := id("go-1")
		if tt.change != nil {
			tt.change(&want)
		}
		if got := s.read(s.For(tt.hub, tt.owner, "job_2"), want, "go"); got != "" {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

func TestPrefixes(t *testing.T) {
	t.Parallel()
	s := newShop(t, cache.Options{})
	for _, key := range []string{"go-1-a", "go-2-a", "go-1-b", "npm-a"} {
		s.save(key, key)
	}
	s.want("go-1-a", "go-1-a: go-1-a", "go-2") // the key itself goes first, however old
	s.want("go-1-c", "go-1-b: go-1-b", "go-1-")
	s.want("go-3-c", "go-1-b: go-1-b", "go-3-", "go-")
	s.want("go-3-c", "go-2-a: go-2-a", "go-2-", "go-")
	s.want("go-3-c", "", "go-3")
	s.want("go-3-c", "")
}

func TestAnEntryNeverChanges(t *testing.T) {
	t.Parallel()
	s := newShop(t, cache.Options{})
	first, err := s.mine().Create(id("go"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.mine().Create(id("go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []topology.CacheWriter{first, second} {
		if _, err := w.Write([]byte(noise(1, 1000))); err != nil {
			t.Fatal(err)
		}
		s.want("go", "") // nobody sees what is not whole
	}
	if _, err := second.Write([]byte("second")); err != nil {
		t.Fatal(err)
	}
	if err := second.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := first.Commit(); !errors.Is(err, topology.ErrCached) {
		t.Errorf("the first: %v", err)
	}
	if _, err := s.mine().Create(id("go")); !errors.Is(err, topology.ErrCached) {
		t.Errorf("a third: %v", err)
	}
	s.want("go", "go: "+noise(1, 1000)+"second")
	s.empty()
	third, err := s.mine().Create(id("go-3"))
	if err != nil {
		t.Fatal(err)
	}
	third.Discard()
	s.want("go-3", "")
	s.empty()
}

func TestTheOldestUseGoesFirst(t *testing.T) {
	t.Parallel()
	s := newShop(t, cache.Options{Size: 350_000})
	for i, key := range []string{"a", "b", "c"} {
		s.save(key, noise(byte(i), 100_000))
	}
	s.read(s.mine(), id("a")) // now b was used longest ago
	s.save("d", noise(4, 100_000))
	if got := s.keys(); got != "d a c" && got != "a d c" {
		t.Errorf("left are %s", got)
	}
	// What is being read stays, although it is the oldest.
	c := s.open(s.mine(), id("c"))
	s.read(s.mine(), id("a"))
	s.read(s.mine(), id("d"))
	s.save("e", noise(5, 200_000))
	if got := s.keys(); !strings.Contains(got, "c") || !strings.Contains(got, "e") || len(got) != 3 {
		t.Errorf("left are %s", got)
	}
	if err := save(s.mine(), id("f"), noise(6, 300_000)); err == nil || !strings.Contains(err.Error(), "all that is in it is in use") {
		t.Errorf("where there is no room: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	s.save("f", noise(6, 300_000))
	if got := s.keys(); got != "f" {
		t.Errorf("left are %s", got)
	}
	s.empty()
}

func TestWhatIsTooLargeIsNotKept(t *testing.T) {
	t.Parallel()
	s := newShop(t, cache.Options{Size: 100_000})
	s.save("small", "x")
	if err := save(s.mine(), id("large"), noise(1, 300_000)); err == nil || !strings.Contains(err.Error(), "larger than the whole cache") {
		t.Errorf("a large entry: %v", err)
	}
	w, err := s.mine().Create(id("hole"))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Reserve(1 << 40); err == nil || !strings.Contains(err.Error(), "4 times the size") {
		t.Errorf("a file of a terabyte: %v", err)
	}
	w.Discard()
	if got := s.keys(); got != "small" {
		t.Errorf("left are %s", got)
	}
	s.empty()
}

func TestASmallerStoreIsTidied(t *testing.T) {
	t.Parallel()
	s := newShop(t, cache.Options{})
	for i, key := range []string{"a", "b", "c"} {
		s.save(key, noise(byte(i), 10_000))
	}
	if err := cache.New(cache.Options{Dir: s.dir, Size: 25_000}).Tidy(); err != nil || s.keys() != "c b" {
		t.Errorf("left are %q, %v", s.keys(), err)
	}
	if err := cache.New(cache.Options{Dir: s.dir}).Tidy(); err != nil || s.keys() != "" {
		t.Errorf("no bytes: left are %q, %v", s.keys(), err)
	}
	if err := cache.New(cache.Options{Dir: filepath.Join(s.dir, "none")}).Tidy(); err != nil {
		t.Errorf("no store: %v", err)
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	s := newShop(t, cache.Options{})
	s.save("a", "one")
	s.save("b", "two")
	all, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	b := s.open(s.mine(), id("b"))
	for _, e := range all {
		if err := s.Remove(e.ID); (err != nil) != (e.Key == "b") {
			t.Errorf("%s: %v", e.Key, err)
		}
	}
	if err := b.Remove(); err != nil {
		t.Errorf("its reader removes it: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if got := s.keys(); got != "" {
		t.Errorf("left are %s", got)
	}
	s.empty()
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	for name, room := range map[string]int{"at once": 0, "in the middle": 500_000, "at its description": 1_000_100} {
		s := newShop(t, cache.Options{Size: 4 * mib, Write: func(f *os.File, b []byte) (int, error) {
			if len(b) > room {
				return 0, &os.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
			}
			room -= len(b)
			return f.Write(b)
		}})
		if err := save(s.mine(), id("a"), noise(1, 1_000_000)); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: %v", name, err)
		}
		s.want("a", "")
		s.empty()
	}
}
