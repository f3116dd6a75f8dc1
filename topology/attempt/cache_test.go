package attempt

import (
	"archive/tar"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/runnerctl/cache"
	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// keeps is a store of a test's, as one person's jobs see it.
func keeps(t *testing.T, o cache.Options) (topology.Cache, *cache.Store) {
	t.Helper()
	if o.Size == 0 {
		o.Size = 64 << 20
	}
	o.Dir = filepath.Join(t.TempDir(), "cache")
	s := cache.New(o)
	return s.For("hub", "wsp_1/usr_1", "job_1"), s
}

// with runs a job with a cache; source may be "".
func (b *bench) with(c topology.Cache, source string, spec topology.Spec) topology.Result {
	if spec.Image == "" {
		spec.Image = topologytest.FakeImage
	}
	return b.exec.Run(b.Context(), topology.Work{Identity: id, Spec: &spec, Source: source, Cache: c}, b.obs)
}

// caches compares what became of the caches.
func (b *bench) caches(r topology.Result, want ...topology.CacheResult) {
	b.Helper()
	if diff := cmp.Diff(want, r.Caches); diff != "" {
		b.Errorf("caches (-want +got):\n%s\n%s", diff, b.obs.Text(topology.System, ""))
	}
}

func (b *bench) says(words string) {
	b.Helper()
	if said := b.obs.Text(topology.System, ""); !strings.Contains(said, words) {
		b.Errorf("the log does not say %q:\n%s", words, said)
	}
}

// fileIn runs a program that notes what it finds at a path, "" for nothing, and writes text there.
func (b *bench) fileIn(program, name, text string, code int) (found *string) {
	found = new(string)
	b.fake.AddProgram(program, func(p *topologytest.FakeProcess) int {
		f, _ := p.File(name)
		*found = string(f.Data)
		p.WriteFile(name, []byte(text))
		return code
	})
	return found
}

const passwd = "root:x:0:0::/root:/bin/sh\nme:x:1000:100::/home/me:/bin/sh\n"

func (b *bench) addPasswd() {
	b.fake.AddImageFile(topologytest.FakeImage, topologytest.FakeFile{
		Header: tar.Header{Typeflag: tar.TypeReg, Name: "/etc/passwd"}, Data: []byte(passwd),
	})
}

func TestACacheIsSavedAndRestored(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.addPasswd()
		c, _ := keeps(b.T, cache.Options{})
		home, workspace := "/home/me/.cache/x/a", "/workspace/tools/b"
		b.fake.AddProgram("fill", func(p *topologytest.FakeProcess) int {
			p.WriteFile(home, []byte("one"))
			p.WriteFile(workspace, []byte("two"))
			p.Symlink("/etc/passwd", "/home/me/.cache/x/link")
			return 0
		})
		spec := topology.Spec{
			User: "me", Steps: []topology.Step{{Name: "a", Run: "fill"}},
			Cache: []topology.CacheSpec{{Key: topology.CacheKey{Prefix: "k"}, Paths: []string{"~/.cache/x", "tools", "/none"}}},
		}
		r := b.with(c, "", spec)
		b.want(r, "succeeded")
		b.caches(r, topology.CacheResult{Key: "k", Hit: topology.CacheNone, SavedBytes: 6})
		b.says("Cache: the job has no /none")
		b.says("Cache k: saved 6B")
		if _, told := r.Phases[topology.PhaseSavingCache]; !told {
			b.Errorf("phases %v", r.Phases)
		}

		b.fake.AddProgram("look", func(p *topologytest.FakeProcess) int {
			for name, want := range map[string]string{home: "one", workspace: "two"} {
				if f, _ := p.File(name); string(f.Data) != want {
					b.Errorf("%s has %q, want %q", name, f.Data, want)
				}
			}
			if f, _ := p.File("/home/me/.cache/x/link"); f.Header.Typeflag != tar.TypeSymlink || f.Header.Linkname != "/etc/passwd" {
				b.Errorf("the link is %+v", f.Header)
			}
			for _, dir := range []string{"/home/me", "/home/me/.cache"} { // they are its user's, who needs them
				if f, _ := p.File(dir); f.Header.Uid != 1000 || f.Header.Gid != 100 || f.Header.Mode != 0o755 {
					b.Errorf("%s is %+v", dir, f.Header)
				}
			}
			return 0
		})
		spec.Steps[0].Run = "look"
		r = b.with(c, "", spec)
		b.want(r, "succeeded")
		b.caches(r, topology.CacheResult{Key: "k", Hit: topology.CacheExact, RestoredBytes: 6})
		if _, told := r.Phases[topology.PhaseRestoringCache]; !told {
			b.Errorf("phases %v", r.Phases)
		}
	})
}

func TestWhatIsNotSaved(t *testing.T) {
	bytes := make([]byte, 2<<20)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(bytes) // which never fails
	noise := string(bytes)
	spec := func(run string, more ...func(*topology.CacheSpec)) topology.Spec {
		c := topology.CacheSpec{Key: topology.CacheKey{Prefix: "k"}, Paths: []string{"/x"}}
		for _, change := range more {
			change(&c)
		}
		return topology.Spec{Command: command(run), Cache: []topology.CacheSpec{c}}
	}
	for name, tt := range map[string]struct {
		spec   topology.Spec
		store  cache.Options
		result string
		says   string
	}{
		"a job that failed": {spec: spec("write and fail"), result: "failed script", says: "no entry"},
		"read only":         {spec: spec("write", func(c *topology.CacheSpec) { c.ReadOnly = true }), says: "no entry"},
		"no folder":         {spec: spec("ok"), says: "it is not saved: the job has none of its folders"},
		"a file":            {spec: spec("write", func(c *topology.CacheSpec) { c.Paths = []string{"/x/a"} }), says: "/x/a is no folder and is left out"},
		"too much":          {spec: spec("write"), store: cache.Options{Size: 1}, says: "it is not saved: "},
		"a full disk": {spec: spec("write"), says: "it is not saved: write /", store: cache.Options{Write: func(f *os.File, _ []byte) (int, error) {
			return 0, &os.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
		}}},
		"no time is left": {
			spec: topology.Spec{Command: command("write much"), Cache: spec("").Cache, Timeout: topology.Duration(5 * time.Second)}, says: "it is not saved: the job ran out of time",
			store: cache.Options{Write: func(f *os.File, b []byte) (int, error) { time.Sleep(10 * time.Second); return f.Write(b) }}, // virtual time
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				c, s := keeps(b.T, tt.store)
				b.fileIn("write", "/x/a", "some text", 0)
				b.fileIn("write much", "/x/a", noise, 0)
				b.fileIn("write and fail", "/x/a", "some text", 3)
				r := b.with(c, "", tt.spec)
				if tt.result == "" {
					tt.result = "succeeded" // whatever becomes of the cache
				}
				b.want(r, tt.result)
				b.caches(r, topology.CacheResult{Key: "k", Hit: topology.CacheNone})
				b.says(tt.says)
				if all, err := s.List(); len(all) != 0 || err != nil {
					b.Errorf("it is kept: %+v, %v", all, err)
				}
			})
		})
	}
}

// A job that has ended says nothing any more: that is no reason to end the saving.
func TestSavingIsNotIdle(t *testing.T) {
	inBubble(t, func(b *bench) {
		c, _ := keeps(b.T, cache.Options{Write: func(f *os.File, b []byte) (int, error) { time.Sleep(10 * time.Second); return f.Write(b) }}) // virtual time
		b.fileIn("write", "/x/a", "some text", 0)
		r := b.with(c, "", topology.Spec{
			Command: command("write"), IdleTimeout: topology.Duration(time.Second),
			Cache: []topology.CacheSpec{{Key: topology.CacheKey{Prefix: "k"}, Paths: []string{"/x"}}},
		})
		b.want(r, "succeeded")
		b.caches(r, topology.CacheResult{Key: "k", Hit: topology.CacheNone, SavedBytes: 9})
	})
}

// What the job has left running ends before its files are kept.
func TestAJobIsQuietWhenItsCacheIsSaved(t *testing.T) {
	inBubble(t, func(b *bench) {
		c, _ := keeps(b.T, cache.Options{})
		b.fileIn("write", "/x/a", "some text", 0)
		r := b.with(c, "", topology.Spec{
			Steps: []topology.Step{{Name: "a", Run: "write"}}, Cache: []topology.CacheSpec{{Key: topology.CacheKey{Prefix: "k"}, Paths: []string{"/x"}}},
		})
		b.want(r, "succeeded")
		killed := false
		for _, call := range b.fake.Calls() {
			killed = killed || strings.HasPrefix(call, "Signal ") && strings.HasSuffix(call, "-job SIGKILL")
			if strings.HasPrefix(call, "CopyFrom") && strings.HasSuffix(call, " /x") && !killed {
				b.Error("it is copied while the job runs")
			}
		}
		if !killed {
			b.Errorf("%q", b.fake.Calls())
		}
	})
}

func TestAnotherEntryByItsPrefix(t *testing.T) {
	inBubble(t, func(b *bench) {
		c, _ := keeps(b.T, cache.Options{})
		found := b.fileIn("write", "/x/a", "new", 0)
		job := func(key string) topology.Spec {
			return topology.Spec{Command: command("write"), Cache: []topology.CacheSpec{{
				Key: topology.CacheKey{Prefix: key}, Restore: []string{"k-"}, Paths: []string{"/x"},
			}}}
		}
		b.want(b.with(c, "", job("k-1")), "succeeded")
		r := b.with(c, "", job("k-2"))
		b.want(r, "succeeded")
		b.caches(r, topology.CacheResult{Key: "k-2", Hit: topology.CachePrefix, RestoredKey: "k-1", RestoredBytes: 3, SavedBytes: 3})
		b.says("Cache k-2: restored 3B of k-1")
		if *found != "new" {
			b.Errorf("it found %q", *found)
		}
		b.caches(b.with(c, "", job("k-2")), topology.CacheResult{Key: "k-2", Hit: topology.CacheExact, RestoredBytes: 3})
	})
}

func TestKeysOfFiles(t *testing.T) {
	keyOf := func(b *bench, files map[string]string, patterns ...string) string {
		b.Helper()
		dir := tree(b.T, files)
		if err := os.Symlink("go.sum", filepath.Join(dir, "link.sum")); err != nil {
			b.Fatal(err)
		}
		r := b.with(nil, dir, topology.Spec{Command: command("ok"), Cache: []topology.CacheSpec{{
			Key: topology.CacheKey{Prefix: "go", Files: patterns}, Paths: []string{"/x"},
		}}})
		b.want(r, "succeeded")
		if len(r.Caches) != 1 {
			b.Fatalf("%+v", r)
		}
		return r.Caches[0].Key
	}
	inBubble(t, func(b *bench) {
		files := map[string]string{"go.sum": "a", "sub/go.sum": "b", "sub/deep/go.mod": "c"}
		key := keyOf(b, files, "go.sum")
		if len(key) != len("go-")+40 || !strings.HasPrefix(key, "go-") {
			b.Errorf("the key is %q", key)
		}
		all := keyOf(b, files, "**/go.sum", "sub")
		seen := map[string]string{key: "go.sum", all: "all"}
		for what, k := range map[string]string{
			"other content":  keyOf(b, map[string]string{"go.sum": "b"}, "go.sum"),
			"other name":     keyOf(b, map[string]string{"x.sum": "a"}, "x.sum"),
			"moved content":  keyOf(b, map[string]string{"go.sum": "a\x00", "b": ""}, "*"),
			"moved content2": keyOf(b, map[string]string{"go.sum": "a", "b": "\x00"}, "*"),
		} {
			if seen[k] != "" {
				b.Errorf("%s has the key of %s", what, seen[k])
			}
			seen[k] = what
		}
		files["other"] = "not of the key"
		if again := keyOf(b, files, "sub/*", "go.*", "go.sum"); again != all { // the same files, otherwise named
			b.Errorf("%q and %q", again, all)
		}
		if again := keyOf(b, files, "*.sum"); again != key { // links do not count
			b.Errorf("%q and %q", again, key)
		}
		b.says("keeps no cache")
		for _, source := range []string{tree(b.T, map[string]string{"a": ""}), ""} {
			b.want(b.with(nil, source, topology.Spec{Command: command("ok"), Cache: []topology.CacheSpec{{
				Key: topology.CacheKey{Prefix: "go", Files: []string{"go.sum", "x/**"}}, Paths: []string{"/x"},
			}}}), "failed spec_invalid")
		}
	})
}

// Where the image has a file instead of a folder nothing is restored, and nothing saved.
func TestAnObstacle(t *testing.T) {
	for name, kind := range map[string]byte{"a file": tar.TypeReg, "a link": tar.TypeSymlink} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				c, _ := keeps(b.T, cache.Options{})
				b.fileIn("write", "/x/a", "some text", 0)
				spec := topology.Spec{Command: command("write"), Cache: []topology.CacheSpec{{
					Key: topology.CacheKey{Prefix: "k"}, Paths: []string{"/y", "/x"},
				}}}
				b.want(b.with(c, "", spec), "succeeded")
				b.fake.AddImageFile(topologytest.FakeImage, topologytest.FakeFile{Header: tar.Header{Typeflag: kind, Name: "/x", Linkname: "/z"}})
				spec.Command = command("ok")
				r := b.with(c, "", spec)
				b.want(r, "succeeded")
				b.caches(r, topology.CacheResult{Key: "k", Hit: topology.CacheNone})
				b.says("it is not restored, since /x is no folder")
			})
		})
	}
}

// A container that was half filled is not started; what the entry is to blame for happens once.
func TestACacheThatCannotBeRestored(t *testing.T) {
	for name, tt := range map[string]struct {
		kind   topology.ErrorKind
		result string
		next   topology.CacheHit
	}{
		"the entry's fault":  {topology.KindOther, "failed source", topology.CacheNone},
		"the machine's":      {topology.KindUnavailable, "failed docker_unavailable", topology.CacheExact},
		"for want of a disk": {topology.KindDiskFull, "failed disk_full", topology.CacheExact},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				c, _ := keeps(b.T, cache.Options{})
				b.fileIn("write", "/x/a", "some text", 0)
				spec := topology.Spec{Command: command("write"), Cache: []topology.CacheSpec{{
					Key: topology.CacheKey{Prefix: "k"}, Paths: []string{"/x"},
				}}}
				b.want(b.with(c, "", spec), "succeeded")
				b.fake.FailNext("CopyTo", &topology.EngineError{Kind: tt.kind, Op: "copy", Err: errors.New("no")})
				b.want(b.with(c, "", spec), tt.result)
				r := b.with(c, "", spec)
				b.want(r, "succeeded")
				if r.Caches[0].Hit != tt.next {
					b.Errorf("then %+v, want %s", r.Caches, tt.next)
				}
			})
		})
	}
}

// An heir saves what the one that was killed would have.
func TestAnHeirSavesTheCache(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := topologytest.NewFake()
		fake.AddProgram("slow", func(p *topologytest.FakeProcess) int {
			time.Sleep(5 * time.Second) // virtual time
			p.WriteFile("/x/a", []byte("some text"))
			return 0
		})
		c, s := keeps(t, cache.Options{})
		k := newKeeper()
		work := topology.Work{Identity: id, Save: k.save, Cache: c, Spec: &topology.Spec{
			Image: topologytest.FakeImage, Steps: []topology.Step{{Name: "a", Run: "slow"}},
			Cache: []topology.CacheSpec{{Key: topology.CacheKey{Prefix: "k"}, Paths: []string{"/x"}}},
		}}
		gate := &mortal{Engine: fake}
		first := New(gate, Options{ReadyNetworks: -1})
		perish(t, first, gate, k, work, 2*time.Second)

		second := New(fake, Options{ReadyNetworks: -1})
		r := second.Adopt(t.Context(), work, k.left, &topologytest.Observer{})
		want := []topology.CacheResult{{Key: "k", Hit: topology.CacheNone, SavedBytes: 9}}
		if diff := cmp.Diff(want, r.Caches); r.Status != topology.Succeeded || diff != "" {
			t.Errorf("%+v, %s", r, diff)
		}
		if all, err := s.List(); len(all) != 1 || err != nil {
			t.Errorf("%+v, %v", all, err)
		}
		if err := second.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
