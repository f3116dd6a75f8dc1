package host

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// process is what /proc tells of one.
type process struct {
	pid, parent int
	cpu         time.Duration // with that of its children which have ended and were waited for
	rss         int64         // bytes
}

// clockTick is the unit of times in /proc: 100 a second on every Linux that Go runs on.
const clockTick = time.Second / 100

// processes lists all of the machine's that can be seen.
func processes() map[int]process {
	all := map[int]process{}
	dir, err := os.Open("/proc")
	if err != nil {
		return all
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return all
	}
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := readProcess(pid); ok {
				all[pid] = p
			}
		}
	}
	return all
}

// readProcess reads /proc/PID/stat; see proc_pid_stat(5).
func readProcess(pid int) (p process, ok bool) {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return p, false
	}
	// The second field is the program's name, in brackets, and may have any bytes in it.
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	const parent, utime, cstime, rss = 1, 11, 14, 21 // counted from the third
	if len(fields) <= rss {
		return p, false
	}
	number := func(i int) int64 {
		n, _ := strconv.ParseInt(string(fields[i]), 10, 64) // the kernel writes numbers
		return n
	}
	p = process{pid: pid, parent: int(number(parent)), rss: number(rss) * int64(os.Getpagesize())}
	for i := utime; i <= cstime; i++ {
		p.cpu += time.Duration(number(i)) * clockTick
	}
	return p, true
}

// descendants lists the processes that have root for a parent, or a parent's parent, and so on.
func descendants(root int) []int {
	all := processes()
	children := map[int][]int{}
	for pid, p := range all {
		children[p.parent] = append(children[p.parent], pid)
	}
	var found []int
	for next := []int{root}; len(next) > 0; next = next[1:] {
		found = append(found, children[next[0]]...)
		next = append(next, children[next[0]]...)
	}
	return found
}

// marked lists the processes that have a container's mark in the environment that they were started with,
// supervisors apart.
func marked(mark string) (jobs, supervisors []int) {
	want := []byte(markVariable + "=" + mark)
	for pid := range processes() {
		dir := filepath.Join("/proc", strconv.Itoa(pid))
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || !hasItem(env, want) {
			continue // it is not this user's, or has just ended
		}
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline")) // empty for what has ended
		if name, _, _ := bytes.Cut(line, []byte{0}); string(name) == supervisorName {
			supervisors = append(supervisors, pid)
		} else {
			jobs = append(jobs, pid)
		}
	}
	return jobs, supervisors
}

// hasItem looks for an item in a list whose items end with NUL.
func hasItem(list, item []byte) bool {
	for len(list) > 0 {
		first, rest, _ := bytes.Cut(list, []byte{0})
		if bytes.Equal(first, item) {
			return true
		}
		list = rest
	}
	return false
}
