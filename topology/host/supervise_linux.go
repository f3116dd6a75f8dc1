package host

import (
	"encoding/json"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// killPatience is how long processes that were killed may take to be gone. Only the kernel can
// hold one up: a disk that does not answer, for example.
const killPatience = 20 * time.Second

// supervise runs the first order of orders and sees to it that nothing of it is left when the
// command has ended, when it is told to kill, and when the runner is gone.
func supervise(orders, to *os.File) int {
	// What the command starts and disowns becomes a child of this process.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		tell(to, failure("become the parent of orphans", err))
		return 1
	}
	// Signals to the runner's group are for the runner to heed. They are taken and not ignored,
	// since the command would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM)
	var o order
	in := json.NewDecoder(orders)
	if err := in.Decode(&o); err != nil {
		return 1 // the runner is gone already
	}
	pid, failed := o.start()
	letGo()
	if failed.Failed != "" {
		tell(to, failed)
		return 1
	}
	tell(to, news{PID: pid})

	kill := make(chan struct{})
	killOnce := sync.OnceFunc(func() { close(kill) })
	go func() {
		var word string
		for in.Decode(&word) == nil {
			if word == killOrder {
				killOnce()
			}
		}
		killOnce() // the runner is gone
	}()
	r := &reaper{main: pid, mainEnded: make(chan struct{}), allEnded: make(chan struct{})}
	go r.run()
	select {
	case <-r.mainEnded:
	case <-kill:
	}
	end := news{Ended: true, Undying: killAll(o.Group, r.allEnded)}
	select {
	case <-r.mainEnded:
		end.Code = exitCode(r.status)
	default:
		end.Code = exitCode(syscall.WaitStatus(syscall.SIGKILL)) // it will, when the kernel lets it
	}
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_CHILDREN, &used) == nil {
		end.CPU = time.Duration(used.Utime.Nano() + used.Stime.Nano())
		end.MaxRSS = used.Maxrss << 10
	}
	tell(to, end)
	return 0
}

// start starts the command by a launcher. The news says why it cannot begin.
func (o order) start() (pid int, failed news) {
	const op = "start a process"
	orderR, orderW, err := os.Pipe()
	if err != nil {
		return 0, failure(op, err)
	}
	defer orderW.Close()
	failR, failW, err := os.Pipe()
	if err != nil {
		_ = orderR.Close()
		return 0, failure(op, err)
	}
	defer failR.Close()
	pid, err = syscall.ForkExec("/proc/self/exe", []string{launcherName}, &syscall.ProcAttr{
		Dir: "/", Env: []string{}, Files: []uintptr{0, 1, 2, orderR.Fd(), failW.Fd()},
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	_, _ = orderR.Close(), failW.Close()
	if err != nil {
		return 0, failure(op, err)
	}
	if err := json.NewEncoder(orderW).Encode(o); err != nil {
		return 0, failure(op, err)
	}
	// The other end is closed when the command takes the launcher's place.
	if json.NewDecoder(failR).Decode(&failed) == nil {
		var status syscall.WaitStatus
		_, _ = syscall.Wait4(pid, &status, 0, nil)
	}
	return pid, failed
}

// letGo closes this process's own ends of the command's streams, so that they end when the command's do.
func letGo() {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return
	}
	for fd := range 3 {
		_ = unix.Dup3(int(null.Fd()), fd, 0)
	}
	_ = null.Close()
}

// reaper waits for all children, those that were disowned by theirs too.
type reaper struct {
	main      int
	status    syscall.WaitStatus // set before mainEnded is closed
	mainEnded chan struct{}
	allEnded  chan struct{}
}

func (r *reaper) run() {
	defer close(r.allEnded)
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return // there is no child any more
		case pid == r.main:
			r.status = status
			close(r.mainEnded)
		}
	}
}

// exitCode is a code as shells tell it.
func exitCode(s syscall.WaitStatus) int {
	if s.Signaled() {
		return 128 + int(s.Signal())
	}
	return s.ExitStatus()
}

// killAll kills everything that descends from this process until there is none, and returns how many
// are left after killPatience. groups are the folders of control groups that nobody else is in.
func killAll(groups []string, gone <-chan struct{}) int {
	stopForks(groups)
	deadline := time.After(killPatience)
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		select { // most jobs leave nothing
		case <-gone:
			return 0
		case <-deadline:
			return max(1, len(descendants(os.Getpid())))
		case <-time.After(wait):
		}
		killEach(func() []int { return descendants(os.Getpid()) })
	}
}

// killEach stops what list finds until it finds no more, and then kills all of it. What is
// stopped starts nothing new and keeps its place under the limit on processes, so that also
// what multiplies faster than it can be killed comes to an end.
func killEach(list func() []int) {
	const rounds = 20
	seen := map[int]bool{}
	for range rounds {
		more := false
		for _, pid := range list() {
			if !seen[pid] {
				seen[pid], more = true, true
				_ = syscall.Kill(pid, syscall.SIGSTOP) // an error says that it has just ended
			}
		}
		if !more {
			break
		}
	}
	for pid := range seen {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}
