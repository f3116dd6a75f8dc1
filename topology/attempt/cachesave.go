package attempt

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/docker/go-units"

	"github.com/runnerhub/runnerhub/topology"
)

// saveCaches keeps what the job has in the paths of its caches, if it succeeded and where there is no entry of just
// that key. Whatever goes wrong with it, the job's result stays.
func (x *execution) saveCaches(r *topology.Result) {
	defer func() {
		for _, c := range x.caches {
			r.Caches = append(r.Caches, c.Result)
		}
	}()
	if r.Status != topology.Succeeded || x.work.Cache == nil {
		return
	}
	var wanted []*cached
	for i := range x.caches {
		if c := &x.caches[i]; c.Keep && c.Result.Hit != topology.CacheExact {
			wanted = append(wanted, c)
		}
	}
	if len(wanted) == 0 {
		return
	}
	ctx, cancel := x.heedless()
	defer cancel()
	_ = x.phases.during(topology.PhaseSavingCache, func() error {
		err := x.quiet(ctx)
		for _, c := range wanted {
			each := err
			if each == nil {
				each = x.saveCache(ctx, c)
			}
			if each != nil && ctx.Err() != nil {
				each = context.Cause(ctx)
			}
			if each != nil {
				x.say("Cache %s: it is not saved: %v", c.ID.Key, each)
			}
		}
		return nil
	})
}

// heedless returns a context that ends with the attempt's, but not because the job, which has ended, says nothing.
func (x *execution) heedless() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(x.live)
	stop := context.AfterFunc(x.ctx, func() {
		if cause := context.Cause(x.ctx); !errors.Is(cause, errIdle) {
			cancel(cause)
		}
	})
	return ctx, func() { stop(); cancel(nil) }
}

// quiet ends what still runs in the job container: an entry must not be of several moments.
func (x *execution) quiet(ctx context.Context) error {
	if !x.spec.HeldOpen() {
		return nil // its container has ended
	}
	ctx, cancel := context.WithTimeout(ctx, killTimeout)
	defer cancel()
	err := x.e.engine.Signal(ctx, x.names.Job, "SIGKILL")
	if kind := topology.KindOf(err); err != nil && kind != topology.KindNotFound && kind != topology.KindNotRunning {
		return err
	}
	select {
	case <-x.jobEnded:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("its container does not end: %w", context.Cause(ctx))
	}
}

func (x *execution) saveCache(ctx context.Context, c *cached) error {
	begin := time.Now()
	w, err := x.work.Cache.Create(c.ID)
	if errors.Is(err, topology.ErrCached) {
		x.say("Cache %s: another job has saved it meanwhile", c.ID.Key)
		return nil
	}
	if err != nil {
		return err
	}
	defer w.Discard()
	p := cachePacker{to: w, tar: tar.NewWriter(w)}
	for i, at := range c.At {
		if err := x.packCache(ctx, &p, i, at); err != nil {
			return err
		}
	}
	if p.folders == 0 {
		return errors.New("the job has none of its folders")
	}
	if err := p.tar.Close(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := w.Commit(); err != nil {
		if !errors.Is(err, topology.ErrCached) {
			return err
		}
		x.say("Cache %s: another job has saved it meanwhile", c.ID.Key)
		return nil
	}
	c.Result.SavedBytes = p.bytes
	left := ""
	if p.special > 0 {
		left = fmt.Sprintf("; %d devices, pipes or sockets were left out", p.special)
	}
	x.say("Cache %s: saved %s in %s%s", c.ID.Key, units.BytesSize(float64(p.bytes)), time.Since(begin).Round(time.Millisecond), left)
	return nil
}

// packCache adds one folder of the job's. One that is not there, or is no folder, is told of and left out.
func (x *execution) packCache(ctx context.Context, p *cachePacker, i int, at string) error {
	stream, err := x.e.engine.CopyFrom(ctx, x.names.Job, at)
	if topology.KindOf(err) == topology.KindNotFound {
		x.say("Cache: the job has no %s", at)
		return nil
	}
	if err != nil {
		return err
	}
	defer stream.Close()
	if err := p.folder(i, stream); !errors.Is(err, errNoFolder) {
		return err
	}
	x.say("Cache: %s is no folder and is left out", at)
	return nil
}
