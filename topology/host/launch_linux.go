package host

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// launch makes this process the command of an order: it enters the control groups, takes the limits
// and the user upon itself, and runs the program in its own stead. It returns only when that
// cannot be, and has told why.
func launch(from, to *os.File) {
	runtime.LockOSThread() // what is set for a thread must hold for the one that goes on
	var o order
	if err := json.NewDecoder(from).Decode(&o); err != nil {
		return // the supervisor is gone
	}
	keepFiles()
	op, err := become(o)
	tell(to, failure(op, err))
}

// become returns only with an error, and what it was about to do.
func become(o order) (string, error) {
	for _, file := range o.Join {
		if err := os.WriteFile(file, []byte("0"), 0); err != nil { // 0 is the one who writes
			return "enter a control group", err
		}
	}
	if err := os.Chdir(o.Dir); err != nil {
		return "enter the working directory", err
	}
	unix.Umask(0o022)
	program, err := lookPath(o.Argv[0], o.Env)
	if err != nil {
		return "find " + o.Argv[0], err
	}
	if err := confine(o.CPUs); err != nil {
		return "keep to some processors", err
	}
	for _, l := range o.Limits {
		if err := syscall.Setrlimit(l.Resource, &syscall.Rlimit{Cur: l.Soft, Max: l.Hard}); err != nil {
			return fmt.Sprintf("set the limit %s to %d", l.Name, int64(l.Hard)), err
		}
	}
	if o.User.Switch {
		if err := syscall.Setgroups(o.User.Groups); err != nil {
			return "take the groups of " + o.User.Name, err
		}
		if err := syscall.Setgid(o.User.GID); err != nil {
			return "take the group of " + o.User.Name, err
		}
		if err := syscall.Setuid(o.User.UID); err != nil {
			return "become the user " + o.User.Name, err
		}
	}
	// Programs that would gain rights by being run could not be killed by the runner.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return "give up new privileges", err
	}
	return "run " + program, syscall.Exec(program, o.Argv, o.Env)
}

// keepFiles has all files of this process closed when it becomes the command, but for the three standard ones. The runner
// may have been started with more, and they are none of the job's business.
func keepFiles() {
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, f := range files {
		if fd, err := strconv.Atoi(f.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}

// lookPath finds a program as a shell does, in the PATH of the job and not of this process.
func lookPath(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	path := ""
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = v
		}
	}
	for _, dir := range filepath.SplitList(path) {
		at := filepath.Join(dir, name)
		if info, err := os.Stat(at); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return at, nil
		}
	}
	return "", fmt.Errorf("there is no such program in %s: %w", path, os.ErrNotExist)
}

// confine keeps this process, and what it starts, to some of the processors that it has.
func confine(cpus int) error {
	var have, want unix.CPUSet
	if cpus == 0 {
		return nil
	}
	if err := unix.SchedGetaffinity(0, &have); err != nil {
		return err
	}
	if have.Count() <= cpus {
		return nil
	}
	for cpu, skip := 0, rand.IntN(have.Count()-cpus+1); want.Count() < cpus; cpu++ {
		switch {
		case !have.IsSet(cpu):
		case skip > 0: // jobs should not all be on the first ones
			skip--
		default:
			want.Set(cpu)
		}
	}
	return unix.SchedSetaffinity(0, &want)
}
