package docker_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/runnerctl/cache"
	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/docker"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// caching runs jobs that share a cache, one after the other.
type caching struct {
	*testing.T
	store *cache.Store
}

func newCaching(t *testing.T, size int64) *caching {
	return &caching{t, cache.New(cache.Options{Dir: filepath.Join(t.TempDir(), "cache"), Size: size})}
}

func (c *caching) run(spec *topology.Spec, source string) (topology.Result, *topologytest.Observer) {
	c.Helper()
	id, obs := identity(c), &topologytest.Observer{}
	r := newExecutor(c, id.Hub, docker.Options{}).Run(c.Context(), topology.Work{
		Identity: id, Spec: spec, Source: source, Cache: c.store.For("hub", "wsp_1/usr_1", id.Job),
	}, obs)
	wantResult(c, r, "succeeded 0")
	return r, obs
}

// The example is a miss, then a hit, and a partial one when a file of its key has changed.
func TestExampleOfACache(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../examples/cache.yaml")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := topology.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	c, source := newCaching(t, 64<<20), t.TempDir()
	numbers := spec.Source.Files["numbers.txt"].Content
	key := ""
	for i, tt := range []struct {
		numbers string
		want    topology.CacheResult
		says    string
	}{
		{numbers, topology.CacheResult{Hit: topology.CacheNone, SavedBytes: 8}, "sum 3 is made\nsum 4 is made\nsum 5 is made\n"},
		{numbers, topology.CacheResult{Hit: topology.CacheExact, RestoredBytes: 8}, "sum 3 is there\nsum 4 is there\nsum 5 is there\n"},
		{numbers + "6\n", topology.CacheResult{Hit: topology.CachePrefix, RestoredBytes: 8, SavedBytes: 11}, "sum 3 is there\nsum 4 is there\nsum 5 is there\nsum 6 is made\n"},
	} {
		if err := os.WriteFile(filepath.Join(source, "numbers.txt"), []byte(tt.numbers), 0o600); err != nil {
			t.Fatal(err)
		}
		r, obs := c.run(spec, source)
		if got := obs.Text(topology.Stdout, ""); got != tt.says {
			t.Errorf("run %d: %q, want %q\n%s", i, got, tt.says, obs.Text(topology.System, ""))
		}
		if len(r.Caches) != 1 || !strings.HasPrefix(r.Caches[0].Key, "sums-") {
			t.Fatalf("run %d: %+v", i, r.Caches)
		}
		if i == 2 {
			tt.want.RestoredKey = key
		}
		key, r.Caches[0].Key = r.Caches[0].Key, ""
		if diff := cmp.Diff(tt.want, r.Caches[0]); diff != "" {
			t.Errorf("run %d: %s", i, diff)
		}
	}
}

// listing describes all files of ~/c but for special ones.
const listing = `
cd ~/c
find . -type d -exec stat -c '%n|%f|%u:%g' {} + | sort
find . -type f -exec stat -c '%n|%f|%u:%g|%s|%h|%Y' {} + | sort
find . -type l -exec stat -c '%N|%u:%g' {} + | sort
find . -type f -exec md5sum {} + | sort
`

// Whatever files there are, they come back as they were; what is no file stays out.
func TestCacheOfOddFiles(t *testing.T) {
	t.Parallel()
	c := newCaching(t, 64<<20)
	spec := &topology.Spec{
		Image: busybox, Cache: []topology.CacheSpec{{Key: topology.CacheKey{Prefix: "odd"}, Paths: []string{"~/c", "/var/odd path/ü"}}},
		Steps: []topology.Step{{Name: "make", Run: `
			mkdir -p ~/c/sub/deep "/var/odd path/ü"; cd ~/c
			echo a > plain; chown 1234:4321 plain; chmod 600 plain; ln plain hard; touch -d '2001-02-03 04:05:06' plain
			ln -s /etc/passwd out; ln -s ../../../../.. up; ln -s plain in; ln -s nowhere dangling; ln -s /root sub/away
			printf 1 > "odd
name"; printf 2 > 'größe " $x \'; printf 3 > "$(printf 'bad\377')"; printf 4 > "$(printf '%0255d' 0)"; printf 5 > '-rf *'
			cp /bin/busybox su; chmod 4755 su; mkdir -m 1777 sub/open; mkdir -m 0 sub/closed; truncate -s 32M sparse; : > empty
			mkfifo pipe; mknod device c 1 3; echo x > "/var/odd path/ü/x"
			` + listing}},
	}
	r, obs := c.run(spec, "")
	made := obs.Text(topology.Stdout, "")
	if len(r.Caches) != 1 || r.Caches[0].SavedBytes < 32<<20 || !strings.Contains(obs.Text(topology.System, ""), "2 devices, pipes or sockets were left out") {
		t.Errorf("%+v\n%s", r.Caches, obs.Text(topology.System, ""))
	}
	spec.Steps = []topology.Step{{Name: "look", Run: listing + `test ! -e pipe; test ! -e device; test "$(cat "/var/odd path/ü/x")" = x; touch new "/var/odd path/new"`}}
	r, obs = c.run(spec, "")
	if diff := cmp.Diff(made, obs.Text(topology.Stdout, "")); diff != "" || !strings.Contains(made, "|2|981173106\n") {
		t.Errorf("the files are others (-made +found):\n%s\n%s", diff, made)
	}
	if r.Caches[0].Hit != topology.CacheExact || r.Caches[0].SavedBytes != 0 {
		t.Errorf("%+v", r.Caches)
	}
	all, err := c.store.List()
	if err != nil || len(all) != 1 || all[0].Stored > 4<<20 { // holes cost nothing
		t.Errorf("%+v, %v", all, err)
	}
}

// A job that runs as another user than root finds its files as its own, and can write beside them.
func TestCacheOfAnotherUser(t *testing.T) {
	t.Parallel()
	c := newCaching(t, 64<<20)
	spec := &topology.Spec{
		Image: busybox, User: "1000:1001", Env: map[string]string{"HOME": "/srv/me"},
		Cache: []topology.CacheSpec{{Key: topology.CacheKey{Prefix: "k"}, Paths: []string{"tools", "~/.cache/x"}}},
		Steps: []topology.Step{{Name: "make", Run: `mkdir tools; echo a > tools/a; chmod 700 tools`}},
	}
	c.run(spec, "") // it has no home yet
	spec.Steps[0].Run = `cat tools/a; echo b >> tools/a; stat -c '%u:%g %a' tools`
	if _, obs := c.run(spec, ""); obs.Text(topology.Stdout, "") != "a\n1000:1001 700\n" {
		t.Errorf("%q", obs.Text(topology.Stdout, ""))
	}
}

// A file that is one large hole is refused before a byte of it is read.
func TestCacheOfAHugeFile(t *testing.T) {
	t.Parallel()
	c := newCaching(t, 1<<20)
	r, obs := c.run(&topology.Spec{
		Image: busybox, Command: sh(`mkdir huge; truncate -s $((1<<36)) huge/hole`),
		Cache: []topology.CacheSpec{{Key: topology.CacheKey{Prefix: "k"}, Paths: []string{"huge"}}},
	}, "")
	if r.Caches[0].SavedBytes != 0 || !strings.Contains(obs.Text(topology.System, ""), "it is not saved: its files have more than 4MiB") {
		t.Errorf("%+v\n%s", r.Caches, obs.Text(topology.System, ""))
	}
}

// What cannot be put over the files that the source has fails the attempt, and the next one does without.
func TestCacheInTheWayOfASource(t *testing.T) {
	t.Parallel()
	c, source := newCaching(t, 64<<20), t.TempDir()
	spec := &topology.Spec{
		Image: busybox, Command: sh(`mkdir -p tools/a; touch tools/a/b`),
		Cache: []topology.CacheSpec{{Key: topology.CacheKey{Prefix: "k"}, Paths: []string{"tools"}}},
	}
	c.run(spec, source)
	if err := os.Mkdir(filepath.Join(source, "tools"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(source, "tools", "a"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	id, obs := identity(t), &topologytest.Observer{}
	spec.Command = sh("true")
	work := topology.Work{Identity: id, Spec: spec, Source: source, Cache: c.store.For("hub", "wsp_1/usr_1", id.Job)}
	e := newExecutor(t, id.Hub, docker.Options{})
	wantResult(t, e.Run(t.Context(), work, obs), "failed source job", "could not be put into the job's container, and was removed")
	r := e.Run(t.Context(), work, obs)
	wantResult(t, r, "succeeded 0")
	if r.Caches[0].Hit != topology.CacheNone {
		t.Errorf("%+v", r.Caches)
	}
}
