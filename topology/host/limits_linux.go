package host

import (
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// ulimits are the kernel's numbers of what specs limit by name.
var ulimits = map[string]int{
	"core": unix.RLIMIT_CORE, "cpu": unix.RLIMIT_CPU, "data": unix.RLIMIT_DATA, "fsize": unix.RLIMIT_FSIZE, "locks": unix.RLIMIT_LOCKS,
	"memlock": unix.RLIMIT_MEMLOCK, "msgqueue": unix.RLIMIT_MSGQUEUE, "nice": unix.RLIMIT_NICE, "nofile": unix.RLIMIT_NOFILE,
	"nproc": unix.RLIMIT_NPROC, "rss": unix.RLIMIT_RSS, "rtprio": unix.RLIMIT_RTPRIO, "rttime": unix.RLIMIT_RTTIME,
	"sigpending": unix.RLIMIT_SIGPENDING, "stack": unix.RLIMIT_STACK,
}

// spare is how much more than the job's limit one process may map where no control group bounds memory. The limit
// itself is watched (memory_linux.go), which is exact for what is used but not at once; programs map more than they use.
const spare = 256 << 20

// limits are what each process of the container is held to: what the spec says, and what stands in for
// the controllers that are missing.
func (c *container) limits() []limit {
	var out []limit
	for _, name := range slices.Sorted(maps.Keys(c.spec.Ulimits)) {
		u := c.spec.Ulimits[name]
		out = append(out, limit{name, ulimits[name], rlim(u.Soft), rlim(u.Hard)})
	}
	add := func(name string, value int64) {
		if _, set := c.spec.Ulimits[name]; !set {
			out = append(out, limit{name, ulimits[name], uint64(value), uint64(value)})
		}
	}
	if n := c.spec.Resources.Memory; n > 0 && !c.group.has(ctlMemory) {
		add("data", n+spare)
	}
	if n := c.spec.Resources.Pids; n > 0 && !c.group.has(ctlPids) {
		add("nproc", n+threadsOf(c.user.UID)) // it counts all of the user's
	}
	return lowered(out)
}

// cpus is how many processors the container keeps to where no control group bounds its time on them.
func (c *container) cpus() int {
	if c.group.has(ctlCPU) {
		return 0
	}
	return int(math.Ceil(c.spec.Resources.CPUs))
}

func rlim(n int64) uint64 {
	if n < 0 {
		return unix.RLIM_INFINITY
	}
	return uint64(n)
}

// lowered keeps limits that nobody asked for below those that this process has: it may not raise them.
func lowered(limits []limit) []limit {
	for i, l := range limits {
		var own syscall.Rlimit
		if (l.Resource == unix.RLIMIT_DATA || l.Resource == unix.RLIMIT_NPROC) && syscall.Getrlimit(l.Resource, &own) == nil && os.Geteuid() != 0 {
			limits[i].Soft, limits[i].Hard = min(l.Soft, own.Max), min(l.Hard, own.Max)
		}
	}
	return limits
}

// threadsOf counts the threads that a user has now.
func threadsOf(uid int) (n int64) {
	for pid := range processes() {
		dir := filepath.Join("/proc", strconv.Itoa(pid))
		var s unix.Stat_t
		if unix.Stat(dir, &s) == nil && int(s.Uid) == uid {
			n += max(1, readWord(dir, "status", "Threads:"))
		}
	}
	return n
}
