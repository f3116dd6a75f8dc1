package host

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/runnerhub/runnerhub/topology"
)

// The controllers of control groups that are of use here. Version 2 accounts for
// processor time in cpu, version 1 in cpuacct.
const (
	ctlMemory  = "memory"
	ctlPids    = "pids"
	ctlCPU     = "cpu"
	ctlCPUAcct = "cpuacct"
)

// group is a container's control groups: for each controller that this process may use
// the folder of the container's own. Without any the container's limits are kept otherwise, as far as that goes.
type group struct {
	folders map[string]string
	unified bool // version 2: all folders are the same one
}

// create makes the groups of a container, with its limits. A controller that cannot be
// used is left out.
func (h hierarchy) create(name string, r topology.Resources) group {
	g := group{folders: map[string]string{}, unified: h.unified}
	for _, ctl := range slices.Sorted(maps.Keys(h.bases)) {
		dir := filepath.Join(h.bases[ctl], name)
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			continue
		}
		if err := h.limit(ctl, dir, r); err != nil {
			if !h.unified {
				_ = os.Remove(dir)
			}
			continue
		}
		g.folders[ctl] = dir
	}
	if h.unified && len(g.folders) == 0 {
		removeGroups([]string{filepath.Join(h.bases[ctlPids], name)})
	}
	return g
}

// setting is a value for a file of a group's folder.
type setting struct {
	file, value string
	optional    bool // not every kernel has it
}

// limit writes a controller's part of the limits.
func (h hierarchy) limit(ctl, dir string, r topology.Resources) error {
	for _, s := range h.settings(ctl, r) {
		err := os.WriteFile(filepath.Join(dir, s.file), []byte(s.value), 0)
		if err != nil && !(s.optional && errors.Is(err, os.ErrNotExist)) {
			return err
		}
	}
	return nil
}

// cpuPeriod is what shares of processors are measured over, in microseconds; the kernel's own default.
const cpuPeriod = 100_000

func (h hierarchy) settings(ctl string, r topology.Resources) []setting {
	memory, quota := strconv.FormatInt(r.Memory, 10), strconv.Itoa(int(r.CPUs*cpuPeriod))
	switch {
	case ctl == ctlMemory && r.Memory > 0 && h.unified:
		return []setting{{"memory.max", memory, false}, {"memory.swap.max", "0", true}}
	case ctl == ctlMemory && r.Memory > 0:
		return []setting{{"memory.limit_in_bytes", memory, false}, {"memory.memsw.limit_in_bytes", memory, true}, {"memory.swappiness", "0", true}}
	case ctl == ctlPids && r.Pids > 0:
		return []setting{{"pids.max", strconv.FormatInt(r.Pids, 10), false}}
	case ctl == ctlCPU && r.CPUs > 0 && h.unified:
		return []setting{{"cpu.max", quota + " " + strconv.Itoa(cpuPeriod), false}}
	case ctl == ctlCPU && r.CPUs > 0:
		return []setting{{"cpu.cfs_period_us", strconv.Itoa(cpuPeriod), false}, {"cpu.cfs_quota_us", quota, false}}
	}
	return nil
}

func (g group) has(ctl string) bool { return g.folders[ctl] != "" }

// dirs are the folders, each once.
func (g group) dirs() []string {
	return slices.Compact(slices.Sorted(maps.Values(g.folders)))
}

// join are the files that a process writes itself into to be in the groups.
func (g group) join() []string {
	files := g.dirs()
	for i := range files {
		files[i] = filepath.Join(files[i], "cgroup.procs")
	}
	return files
}

// used is what the processes of the groups have consumed so far. Figures that no controller tells are 0.
func (g group) used() (u topology.Usage) {
	if dir := g.folders[ctlMemory]; g.unified {
		if u.MemoryPeak = readNumber(dir, "memory.peak"); u.MemoryPeak == 0 { // of kernels before 5.19
			u.MemoryPeak = readNumber(dir, "memory.current")
		}
	} else {
		u.MemoryPeak = readNumber(dir, "memory.max_usage_in_bytes")
	}
	if g.unified {
		u.CPU = time.Duration(readWord(g.folders[ctlCPU], "cpu.stat", "usage_usec")) * time.Microsecond
	} else {
		u.CPU = time.Duration(readNumber(g.folders[ctlCPUAcct], "cpuacct.usage"))
	}
	return u
}

// oomKills counts the processes that the kernel killed because the group had no memory left.
func (g group) oomKills() int64 {
	if g.unified {
		return readWord(g.folders[ctlMemory], "memory.events", "oom_kill")
	}
	return readWord(g.folders[ctlMemory], "memory.oom_control", "oom_kill")
}

// remove removes the groups, which nothing runs in any more.
func (g group) remove() { removeGroups(g.dirs()) }

// pidsOf lists the processes in groups.
func pidsOf(groups []string) []int {
	var found []int
	for _, dir := range groups {
		data, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		if err != nil {
			continue
		}
		for word := range strings.FieldsSeq(string(data)) {
			if pid, err := strconv.Atoi(word); err == nil && pid > 0 {
				found = append(found, pid)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// stopForks lets nothing new begin in groups, and has the kernel kill what is in them where it can.
func stopForks(groups []string) {
	for _, dir := range groups {
		// A folder has the files of its controllers alone, and old kernels have no cgroup.kill.
		for file, value := range map[string]string{"pids.max": "0", "cgroup.kill": "1"} {
			if f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY, 0); err == nil {
				_, _ = f.WriteString(value)
				_ = f.Close()
			}
		}
	}
}

// removeGroups removes the folders of groups. A process is in its group for a moment after its end.
func removeGroups(dirs []string) {
	for _, dir := range dirs {
		for wait := time.Millisecond; wait < time.Second; wait *= 2 {
			if err := unix.Rmdir(dir); !errors.Is(err, unix.EBUSY) {
				break
			}
			time.Sleep(wait)
		}
	}
}

// readNumber reads a file that has one number; 0 where there is none.
func readNumber(dir, file string) int64 {
	if dir == "" {
		return 0
	}
	data, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64) // a word instead of a number says that there is none
	return n
}

// readWord reads the number behind a word that a line begins with; 0 where there is none.
func readWord(dir, file, word string) int64 {
	if dir == "" {
		return 0
	}
	data, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, word); ok && strings.TrimLeft(rest, " \t") != rest {
			number, _, _ := strings.Cut(strings.TrimSpace(rest), " ") // a unit may follow
			n, _ := strconv.ParseInt(number, 10, 64)
			return n
		}
	}
	return 0
}

// accounts says whether the groups tell the processors' time.
func (g group) accounts() bool { return g.unified && g.has(ctlCPU) || g.has(ctlCPUAcct) }
