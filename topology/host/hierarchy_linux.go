package host

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// hierarchy is where this process may make control groups: below the one that it is in
// itself, so that whatever bounds the runner bounds its jobs too.
type hierarchy struct {
	bases   map[string]string // controller → the folder in which containers get theirs
	unified bool              // version 2
}

// groupsDir is the folder of a runner's group that its jobs' groups are in.
const groupsDir = "runnerhub"

// openHierarchy finds it. Version 2 is used where it has the controllers, else version 1; a
// runner that may write to neither has none.
func openHierarchy() hierarchy {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return hierarchy{}
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return hierarchy{}
	}
	places := groupPlaces(string(mounts), string(own))
	if dir, ok := places[""]; ok {
		if ctls := prepareUnified(dir); len(ctls) > 0 {
			h := hierarchy{bases: map[string]string{}, unified: true}
			for _, ctl := range ctls {
				h.bases[ctl] = filepath.Join(dir, groupsDir)
			}
			return h
		}
	}
	h := hierarchy{bases: map[string]string{}}
	for _, ctl := range []string{ctlMemory, ctlPids, ctlCPU, ctlCPUAcct} {
		dir, ok := places[ctl]
		if !ok {
			continue
		}
		base := filepath.Join(dir, groupsDir)
		if err := os.Mkdir(base, 0o755); err == nil || errors.Is(err, os.ErrExist) {
			if unix.Access(base, unix.W_OK) == nil {
				h.bases[ctl] = base
			}
		}
	}
	return h
}

// groupPlaces reads where this process is in each hierarchy: the folder by controller, and that of version 2 by "".
func groupPlaces(mounts, own string) map[string]string {
	inside := map[string]string{} // controller → path in its hierarchy
	lines := bufio.NewScanner(strings.NewReader(own))
	for lines.Scan() {
		parts := strings.SplitN(lines.Text(), ":", 3) // ID:CONTROLLERS:PATH
		if len(parts) != 3 {
			continue
		}
		for ctl := range strings.SplitSeq(parts[1], ",") {
			inside[ctl] = parts[2]
		}
	}
	places := map[string]string{}
	lines = bufio.NewScanner(strings.NewReader(mounts))
	for lines.Scan() {
		fields := strings.Fields(lines.Text()) // WHAT WHERE TYPE OPTIONS …
		if len(fields) < 4 {
			continue
		}
		var ctls []string
		switch fields[2] {
		case "cgroup2":
			ctls = []string{""}
		case "cgroup":
			ctls = strings.Split(fields[3], ",")
		}
		for _, ctl := range ctls {
			path, ok := inside[ctl]
			if _, twice := places[ctl]; !ok || twice {
				continue
			}
			dir := filepath.Join(fields[1], path)
			if _, err := os.Stat(dir); err != nil { // in a container the path is the machine's, and the mount its own
				dir = fields[1]
			}
			places[ctl] = dir
		}
	}
	return places
}

// prepareUnified makes the folder of groups in a folder of version 2, and returns the controllers that
// are to be had there. A group with processes can give its controllers to no group below
// it; where this process is alone in its group, as a service is, it moves into one of its own.
func prepareUnified(dir string) []string {
	if data, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers")); err != nil || !strings.Contains(string(data), ctlPids) {
		return nil // version 1 has them
	}
	base := filepath.Join(dir, groupsDir)
	if err := os.Mkdir(base, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return nil
	}
	if err := enable(dir); errors.Is(err, unix.EBUSY) {
		if pids := pidsOf([]string{dir}); !slices.Equal(pids, []int{os.Getpid()}) {
			return nil
		}
		leaf := filepath.Join(dir, "runner")
		if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return nil
		}
		if err := os.WriteFile(filepath.Join(leaf, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0); err != nil {
			return nil
		}
		_ = enable(dir) // what came of it shows below
	}
	_ = enable(base)
	data, err := os.ReadFile(filepath.Join(base, "cgroup.subtree_control"))
	if err != nil {
		return nil
	}
	var have []string
	for ctl := range strings.FieldsSeq(string(data)) {
		if slices.Contains([]string{ctlMemory, ctlPids, ctlCPU}, ctl) {
			have = append(have, ctl)
		}
	}
	return have
}

// enable gives the groups below a folder its controllers. The error is the last one.
func enable(dir string) (last error) {
	for _, ctl := range []string{ctlMemory, ctlPids, ctlCPU} {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+ctl), 0); err != nil {
			last = err
		}
	}
	return last
}
