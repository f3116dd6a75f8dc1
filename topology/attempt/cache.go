package attempt

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"path"
	"time"

	"github.com/docker/go-units"

	"github.com/runnerhub/runnerhub/topology"
)

// cached is one entry of the spec's cache, as far as the attempt has come with it. It is part of the checkpoint, so
// that an heir saves what its predecessor would have.
type cached struct {
	ID     topology.CacheID
	At     []string // where the paths are in the container
	Result topology.CacheResult
	Keep   bool // it may be saved: nothing was in the way of restoring it
}

// restoreCaches puts into the created job container what earlier jobs have left for it. What goes wrong with the
// cache itself costs no more than the time that it would have saved; only a container that was half filled is not
// started.
func (x *execution) restoreCaches(ctx context.Context, op topology.Op) error {
	return x.phases.during(topology.PhaseRestoringCache, func() error {
		if err := x.nameCaches(ctx, op); err != nil {
			return err
		}
		if x.work.Cache == nil {
			x.say("This runner keeps no cache (--cache-size), or its hub is too old to say whose it would be")
			return nil
		}
		for i := range x.caches {
			if err := x.restoreCache(ctx, op, i); err != nil {
				return err
			}
		}
		x.save(func(c *checkpoint) { c.Caches = x.caches })
		return nil
	})
}

// nameCaches finds out what the job's entries are called and where they belong.
func (x *execution) nameCaches(ctx context.Context, op topology.Op) error {
	home, err := x.home(ctx, op.Target, op.User)
	if err != nil {
		return err
	}
	image := x.observed.Images[x.spec.Image]
	root, err := x.sourceRoot()
	if err != nil {
		return err
	}
	defer root.Close()
	x.caches = make([]cached, len(x.spec.Cache))
	for i, spec := range x.spec.Cache {
		key, err := cacheKey(ctx, root, i, spec.Key)
		if err != nil {
			return err
		}
		c := cached{
			ID: topology.CacheID{
				Key: key, Paths: spec.Paths, User: op.User, Platform: path.Join(image.OS, image.Arch, image.Variant),
			},
			Result: topology.CacheResult{Key: key, Hit: topology.CacheNone}, Keep: !spec.ReadOnly,
		}
		for _, name := range spec.Paths {
			c.At = append(c.At, x.spec.CachePath(name, home))
		}
		x.caches[i] = c
	}
	return nil
}

func (x *execution) restoreCache(ctx context.Context, op topology.Op, i int) error {
	c, begin := &x.caches[i], time.Now()
	key := c.ID.Key
	entry, err := x.work.Cache.Open(ctx, c.ID, x.spec.Cache[i].Restore, func(line string) { x.say("Cache %s: %s", key, line) })
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		x.say("Cache %s: it cannot be looked up: %v", key, err)
		return nil
	case entry == nil:
		x.say("Cache %s: there is no entry", key)
		return nil
	}
	defer entry.Close()
	missing, obstacle, err := x.survey(ctx, op.Target, c.At)
	if err != nil {
		return err
	}
	if obstacle != "" {
		x.say("Cache %s: it is not restored, since %s is no folder in the job's image or source", key, obstacle)
		c.Keep = false
		return nil
	}
	owner, err := x.owner(ctx, op.Target, op.User)
	if err != nil {
		return err
	}
	bytes, err := x.unpackCache(ctx, op.Target, entry, cachePlaces{at: c.At, missing: missing, owner: owner})
	if err != nil {
		return x.unrestored(ctx, entry, err)
	}
	c.Result.Hit, c.Result.RestoredBytes = topology.CacheExact, bytes
	from := ""
	if entry.Key() != key {
		c.Result.Hit, c.Result.RestoredKey, from = topology.CachePrefix, entry.Key(), " of "+entry.Key()
	}
	x.say("Cache %s: restored %s%s in %s", key, units.BytesSize(float64(bytes)), from, time.Since(begin).Round(time.Millisecond))
	return nil
}

// unrestored is the failure of an attempt whose container has a part of an entry and no more. Unless the machine is
// at fault, the entry goes, so that the next attempt does without.
func (x *execution) unrestored(ctx context.Context, entry topology.CacheEntry, err error) error {
	switch kind := topology.KindOf(err); {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case kind == topology.KindUnavailable || kind == topology.KindDiskFull || isDiskFull(err):
		return err
	}
	f := failureOf(err)
	f.Class, f.Container = topology.ClassSource, "job"
	f.Message = "The cache " + entry.Key() + " could not be put into the job's container, and was removed: " + f.Message
	f.Hint = "The job runs without it the next time. Keep folders that neither the image nor the source has files in."
	if removeErr := entry.Remove(); removeErr != nil {
		x.e.opts.Logger.Warn("an entry of the cache cannot be removed", "key", entry.Key(), "error", removeErr)
	}
	return &failureError{f}
}

// survey looks at the places that an entry is to be restored to: which of the folders above them are missing, each
// behind the one that it is in, and where something is in the way.
func (x *execution) survey(ctx context.Context, container string, at []string) (missing []string, obstacle string, err error) {
	known := map[string]bool{"/": true}
	for _, place := range at {
		kind, err := x.kindOf(ctx, container, place)
		if err != nil {
			return nil, "", err
		}
		if kind == tar.TypeDir {
			continue
		}
		if kind != 0 {
			return nil, place, nil
		}
		var above []string
		for dir := path.Dir(place); !known[dir]; dir = path.Dir(dir) {
			known[dir] = true
			if kind, err = x.kindOf(ctx, container, dir); err != nil {
				return nil, "", err
			}
			if kind != 0 { // be it a link to a folder
				break
			}
			above = append([]string{dir}, above...)
		}
		missing = append(missing, above...)
	}
	return missing, "", nil
}

// kindOf is the kind of what is at a path of a container in the words of package tar, 0 for nothing.
func (x *execution) kindOf(ctx context.Context, container, at string) (byte, error) {
	stream, err := x.e.engine.CopyFrom(ctx, container, at)
	if topology.KindOf(err) == topology.KindNotFound {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer stream.Close()
	h, err := tar.NewReader(stream).Next()
	if errors.Is(err, io.EOF) { // what engines give no file for: a socket
		return tar.TypeFifo, nil
	}
	if err != nil {
		return 0, err
	}
	return h.Typeflag, nil
}
