package attempt

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/docker/go-units"

	"github.com/runnerhub/runnerhub/topology"
)

// What containers with a limit write is measured after diskFirst, and then so often
// that measuring takes at most one part in diskShare of the time, and no more often
// than every diskEvery: it may mean to walk through many files.
const (
	diskFirst = 500 * time.Millisecond
	diskEvery = 2 * time.Second
	diskShare = 20
)

// diskLimit is a container that may write so much and no more.
type diskLimit struct {
	who       string // "job" or a service's name
	container string
	bytes     int64
}

// boundDisk has a container's use of disk watched from its start on.
func (x *execution) boundDisk(who, container string, r topology.Resources) {
	if r.Disk == 0 {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.disks = append(x.disks, diskLimit{who, container, r.Disk})
	if len(x.disks) == 1 {
		x.watchers.Go(x.watchDisk)
	}
}

// watchDisk ends the attempt when a container is over its limit. Its processes get no
// time to end: they would go on to write.
func (x *execution) watchDisk() {
	timer := time.NewTimer(diskFirst)
	defer timer.Stop()
	for said := false; ; {
		select {
		case <-timer.C:
		case <-x.live.Done():
			return
		}
		begin := time.Now()
		failure, err := x.overDisk(x.live)
		switch {
		case failure != nil:
			x.over(&atOnceError{&failureError{*failure}})
			return
		case err != nil && x.live.Err() == nil && !said:
			x.say("What the job writes to disk could not be measured: %s", err)
			said = true
		}
		timer.Reset(max(diskEvery, diskShare*time.Since(begin)))
	}
}

// overDisk measures, and returns the failure of the first container over its limit.
func (x *execution) overDisk(ctx context.Context) (*topology.Failure, error) {
	x.mu.Lock()
	limits := x.disks
	x.mu.Unlock()
	names := make([]string, len(limits))
	for i, l := range limits {
		names[i] = l.container
	}
	used, err := x.e.engine.DiskUsage(ctx, names)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	x.usage.DiskPeak = max(x.usage.DiskPeak, used[x.names.Job])
	x.mu.Unlock()
	for _, l := range limits {
		if used[l.container] > l.bytes {
			f := l.exceeded(used[l.container])
			return &f, nil
		}
	}
	return nil, nil //nolint:nilnil // nobody is over a limit, and nothing went wrong
}

func (l diskLimit) exceeded(used int64) topology.Failure {
	who, field := "job", "resources.disk"
	if l.who != "job" {
		who, field = "service "+l.who, "services."+l.who+".resources.disk"
	}
	message := fmt.Sprintf("The %s wrote %s to disk, over its limit of %s.", who, units.BytesSize(float64(used)), units.BytesSize(float64(l.bytes)))
	if used <= l.bytes { // a quota held it
		message = fmt.Sprintf("The %s ran out of its %s of disk.", who, units.BytesSize(float64(l.bytes)))
	}
	return topology.Failure{
		Class: topology.ClassDiskFull, Container: l.who, Message: message,
		Hint: "Raise " + field + " in the spec, or write less; the workspace counts.",
	}
}

// diskAtEnd measures once more when the job has ended by itself: whether a limit holds
// must not depend on when it was looked at.
func (x *execution) diskAtEnd(o *outcome) {
	x.mu.Lock()
	bounded := len(x.disks) > 0
	x.mu.Unlock()
	if !bounded || x.ctx.Err() != nil || o.result.Failure != nil && o.result.Failure.Class != topology.ClassScript {
		return
	}
	if f, err := x.overDisk(x.ctx); err == nil && f != nil {
		o.result.Status, o.result.Failure = topology.Failed, f
	}
}

// fullWords are what programs say when a write finds no room.
var fullWords = []string{"no space left on device", "disk quota exceeded", "enospc", "edquot", "not enough space on the disk"}

func saysFull(said []string) bool {
	last := strings.ToLower(strings.Join(said, "\n"))
	for _, w := range fullWords {
		if strings.Contains(last, w) {
			return true
		}
	}
	return false
}

// plenty is so much room on the engine's disk, in bytes, that a write which found none
// was to somewhere else. What failed may have made some room by removing its own files.
const plenty = 256 << 20

// explainFull finds out which room was missing when a container's last words are that
// there was none: that of its own limit, that of the machine, or that of a tmpfs.
func (x *execution) explainFull(f *topology.Failure, r topology.Resources, container string) {
	ctx, cancel := context.WithTimeout(x.live, killTimeout)
	defer cancel()
	if r.Disk > 0 { // a quota of the storage driver's stops short of it
		if used, err := x.e.engine.DiskUsage(ctx, []string{container}); err == nil && used[container] > r.Disk-r.Disk/10 {
			*f = diskLimit{f.Container, container, r.Disk}.exceeded(used[container])
			return
		}
	}
	free, err := x.e.engine.DiskFree(ctx)
	if err == nil && free >= plenty && x.spec.OnHost() {
		f.Hint = fmt.Sprintf("Something was full, and not the disk that the job's folder is on, which has %s left.", units.BytesSize(float64(free)))
		return
	}
	if err == nil && free >= plenty {
		f.Hint = fmt.Sprintf("Something was full, and not the machine's disk, which has %s left: a tmpfs, or /dev/shm with its 64MiB.",
			units.BytesSize(float64(free)))
		return
	}
	f.Class, f.Container = topology.ClassDiskFull, "" // no container is to blame
	f.Message += " The machine's disk is full."
	f.Hint = "Free space on the runner's machine; `docker system df` shows what Docker holds."
	if x.spec.OnHost() {
		f.Hint = "Free space on the runner's machine."
	}
}
