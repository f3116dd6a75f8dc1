package host

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/topology"
)

// What is written into control groups of both versions, and read from them, by the kernel's manual. A folder stands in for
// its file system: machines have one version or the other.
func TestGroups(t *testing.T) {
	t.Parallel()
	r := topology.Resources{CPUs: 1.5, Memory: 64 << 20, Pids: 100}
	for name, tc := range map[string]struct {
		unified bool
		ctls    []string
		files   map[string]string // below the base of all
		accts   map[string]string // what the kernel would write
		used    topology.Usage
		kills   int64
	}{
		"version 1": {
			false, []string{ctlMemory, ctlPids, ctlCPU, ctlCPUAcct},
			map[string]string{
				"memory/job/memory.limit_in_bytes": "67108864", "memory/job/memory.memsw.limit_in_bytes": "67108864", "memory/job/memory.swappiness": "0",
				"pids/job/pids.max": "100", "cpu/job/cpu.cfs_period_us": "100000", "cpu/job/cpu.cfs_quota_us": "150000",
			},
			map[string]string{
				"memory/job/memory.max_usage_in_bytes": "4096\n", "cpuacct/job/cpuacct.usage": "1500000000\n",
				"memory/job/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
			},
			topology.Usage{CPU: 1500 * time.Millisecond, MemoryPeak: 4096}, 2,
		},
		"version 2": {
			true, []string{ctlMemory, ctlPids, ctlCPU},
			map[string]string{
				"job/memory.max": "67108864", "job/memory.swap.max": "0", "job/pids.max": "100", "job/cpu.max": "150000 100000",
			},
			map[string]string{
				"job/memory.peak": "8192\n", "job/cpu.stat": "usage_usec 2500000\nuser_usec 2000000\n", "job/memory.events": "oom 3\noom_kill 1\n",
			},
			topology.Usage{CPU: 2500 * time.Millisecond, MemoryPeak: 8192}, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := t.TempDir()
			h := hierarchy{bases: map[string]string{}, unified: tc.unified}
			for _, ctl := range tc.ctls {
				h.bases[ctl] = base
				if !tc.unified {
					h.bases[ctl] = filepath.Join(base, ctl)
					if err := os.Mkdir(h.bases[ctl], 0o755); err != nil {
						t.Fatal(err)
					}
				}
			}
			g := h.create("job", r)
			if diff := cmp.Diff(tc.files, filesIn(t, base)); diff != "" {
				t.Error(diff)
			}
			for file, text := range tc.accts {
				if err := os.WriteFile(filepath.Join(base, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got := g.used(); got != tc.used || g.oomKills() != tc.kills || !g.accounts() {
				t.Errorf("used %+v, %d killed", got, g.oomKills())
			}
		})
	}
}

func filesIn(t *testing.T, base string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, pattern := range []string{"*/*", "*/*/*"} {
		files, err := filepath.Glob(filepath.Join(base, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if info, err := os.Stat(file); err != nil || info.IsDir() {
				continue
			}
			if err := os.Chmod(file, 0o600); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			rel, err := filepath.Rel(base, file)
			if err != nil {
				t.Fatal(err)
			}
			found[filepath.ToSlash(rel)] = string(data)
		}
	}
	return found
}

func TestGroupPlaces(t *testing.T) {
	t.Parallel()
	one, two := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(one, "a/b"), 0o755); err != nil {
		t.Fatal(err)
	}
	mounts := "proc /proc proc rw 0 0\ncgroup " + one + " cgroup rw,relatime,pids 0 0\ncgroup " + two + " cgroup rw,cpu,cpuacct 0 0\ncgroup2 " + one + " cgroup2 rw 0 0\n"
	own := "4:pids:/a/b\n3:cpu,cpuacct:/of/another/namespace\n1:name=systemd:/\n0::/a\n"
	want := map[string]string{"pids": filepath.Join(one, "a/b"), "cpu": two, "cpuacct": two, "": filepath.Join(one, "a")}
	if diff := cmp.Diff(want, groupPlaces(mounts, own)); diff != "" {
		t.Error(diff)
	}
}
