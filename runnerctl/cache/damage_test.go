package cache_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/runnerctl/cache"
)

// An entry that is not what was saved is no entry: it is told of, goes, and may be saved anew.
func TestDamagedEntries(t *testing.T) {
	t.Parallel()
	change := func(name string, how func([]byte) []byte) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			file := filepath.Join(dir, name)
			text, err := os.ReadFile(file)
			if err == nil {
				err = os.WriteFile(file, how(text), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, damage := range map[string]func(*testing.T, string){
		"a bit":   change("data", func(b []byte) []byte { b[len(b)/2] ^= 1; return b }),
		"an end":  change("data", func(b []byte) []byte { return b[:len(b)-1] }),
		"more":    change("data", func(b []byte) []byte { return append(b, 0) }),
		"no data": remove("data"), "no description": remove("entry.json"),
		"no JSON":   change("entry.json", func([]byte) []byte { return []byte("{") }),
		"another's": change("entry.json", func(b []byte) []byte { return []byte(strings.Replace(string(b), "usr_1", "usr_2", 1)) }),
		"another checksum": change("entry.json", func(b []byte) []byte {
			i := strings.Index(string(b), `"sha256": "`) + len(`"sha256": "`)
			b[i] = "10"[b[i]&1]
			return b
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, cache.Options{})
			s.save("go-1", noise(1, 1000))
			all, err := s.List()
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(s.dir, "entries", all[0].ID)
			s.save("go-0", "other")
			damage(t, dir)
			s.want("go-1", "go-0: other", "go-")
			if len(s.said) != 1 || !strings.Contains(s.said[0], "is damaged and is removed") {
				t.Errorf("it is said: %q", s.said)
			}
			s.save("go-1", "new")
			s.want("go-1", "go-1: new")
			s.empty()
		})
	}
}

// victimDir tells the test's program to write an entry that never ends, in that folder.
const victimDir = "RUNNERHUB_TEST_CACHE_VICTIM"

func writeForEver(dir string) {
	w, err := cache.New(cache.Options{Dir: dir, Size: 64 * mib}).For("hub", "wsp_1/usr_1", "job_1").Create(id("go-1"))
	for i := 0; err == nil; i++ {
		if _, err = w.Write([]byte(noise(byte(i), mib))); i == 8 {
			fmt.Println("in the middle")
			<-time.After(time.Minute) // it is killed
		}
	}
	fmt.Println(err)
	os.Exit(1)
}

// A process that is killed while it saves leaves no entry, and what it leaves goes; what another one writes stays.
func TestKilledWhileItSaves(t *testing.T) {
	t.Parallel()
	s := newShop(t, cache.Options{Size: 64 * mib})
	victim := exec.CommandContext(t.Context(), os.Args[0])
	victim.Env = append(os.Environ(), victimDir+"="+s.dir)
	out, err := victim.StdoutPipe()
	if err == nil {
		err = victim.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	said := make([]byte, len("in the middle"))
	if _, err := out.Read(said); err != nil || string(said) != "in the middle" {
		t.Fatalf("the victim says %q, %v", said, err)
	}
	alive, err := s.mine().Create(id("go-1"))
	if err != nil {
		t.Fatal(err)
	}
	size := func() (n int) {
		list, err := os.ReadDir(filepath.Join(s.dir, "new"))
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	if err := s.Tidy(); err != nil || size() != 2 {
		t.Errorf("while both write %d are there, %v", size(), err)
	}
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait() // it was killed
	s.want("go-1", "")
	if err := s.Tidy(); err != nil || size() != 1 {
		t.Errorf("when one was killed %d are there, %v", size(), err)
	}
	if _, err := alive.Write([]byte("whole")); err != nil {
		t.Fatal(err)
	}
	if err := alive.Commit(); err != nil {
		t.Fatal(err)
	}
	s.want("go-1", "go-1: whole")
	s.empty()
}
