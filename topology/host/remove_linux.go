package host

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/runnerhub/runnerhub/topology"
)

// RemoveContainer ends all that runs in a container and removes its folder, whichever process has made it.
func (e *Engine) RemoveContainer(ctx context.Context, name string) error {
	op := "remove " + name
	if err := ended(ctx, op); err != nil {
		return err
	}
	r, err := e.readRecord(name)
	if err != nil {
		return fault(op, err)
	}
	e.mu.Lock()
	c := e.containers[name]
	e.mu.Unlock()
	unsure := true
	if c != nil {
		if unsure, err = c.end(ctx, op); err != nil {
			return err
		}
	}
	if unsure {
		if n := killLeft(name, r.Groups); n > 0 {
			return faultf(topology.KindBusy, op, "%d of its processes could not be killed", n)
		}
	}
	removeGroups(r.Groups)
	dir := filepath.Join(e.dir, name)
	// The record goes last: without it nobody would know the rest for a container.
	if err := removeTree(filepath.Join(dir, rootDir)); err != nil { // it is not there for one beside another
		return fault(op, err)
	}
	if err := removeTree(dir); err != nil {
		return fault(op, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.containers, name)
	return nil
}

// end kills the container's commands and waits until they are gone. unsure says that something may live on all the same.
func (c *container) end(ctx context.Context, op string) (unsure bool, err error) {
	c.mu.Lock()
	var running []*command
	for x := range c.commands {
		running = append(running, x)
	}
	c.mu.Unlock()
	for _, x := range running {
		x.kill()
	}
	for _, x := range running {
		if _, err := x.Wait(ctx); err != nil {
			return true, faultf(topology.KindBusy, op, "its processes have not ended: %w", err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unsure, nil
}

// ownPatience is how long the supervisors of a runner that was killed may take to clean up by themselves.
const ownPatience = 5 * time.Second

// killLeft kills what is left of a container whose supervisors may be gone: what is in its control groups, what
// has its mark, and what descends from its supervisors. It returns how many are left all the same.
func killLeft(mark string, groups []string) int {
	begin := time.Now()
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		list := func() []int {
			jobs, supervisors := marked(mark)
			jobs = append(jobs, pidsOf(groups)...)
			for _, pid := range supervisors {
				jobs = append(jobs, descendants(pid)...)
			}
			if time.Since(begin) > ownPatience {
				jobs = append(jobs, supervisors...)
			}
			return slices.DeleteFunc(jobs, func(pid int) bool { return pid == os.Getpid() })
		}
		left := list()
		_, supervisors := marked(mark)
		if len(left)+len(supervisors) == 0 {
			return 0
		}
		if time.Since(begin) > killPatience {
			return len(left)
		}
		stopForks(groups)
		killEach(list)
		time.Sleep(wait)
	}
}

// removeTree removes a folder with all that is in it, also what its owner has made read-only, or immutable where this
// process may change that.
func removeTree(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = os.Chmod(dir, 0o700)
	if root, err := os.OpenRoot(dir); err == nil {
		unlock(root)
		_ = root.Close()
	}
	return os.RemoveAll(dir)
}

// unlock makes everything below a folder such that it can be removed, as far as that goes. It is left by no link.
func unlock(root *os.Root) {
	_ = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if d == nil || !d.IsDir() && !d.Type().IsRegular() {
			return nil
		}
		mutable(root, name)
		if d.IsDir() && err == nil { // it is read after this
			_ = root.Chmod(name, 0o700)
		}
		return nil
	})
}

// mutable takes away the flags that forbid to change or to remove a file or a folder.
func mutable(root *os.Root, name string) {
	f, err := root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer f.Close()
	const immutable, appendOnly = 0x10, 0x20 // FS_IMMUTABLE_FL and FS_APPEND_FL of linux/fs.h
	flags, err := unix.IoctlGetUint32(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err == nil && flags&(immutable|appendOnly) != 0 {
		// Only the superuser may, and only the superuser's job could set them.
		_ = unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, int(flags&^(immutable|appendOnly)))
	}
}
