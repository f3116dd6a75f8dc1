package attempt

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/docker/go-units"

	"github.com/runnerhub/runnerhub/topology"
)

// progressEvery is how often a pull's progress is logged at most.
const progressEvery = 2 * time.Second

// pullImages sees to it that all images are there, and what they are.
func (x *execution) pullImages() error {
	info, err := x.e.engineInfo(x.ctx)
	if err != nil {
		return err
	}
	x.observed.Engine = info
	if err := x.observeImages(); err != nil {
		return err
	}
	plan, failure := topology.PlanPulls(x.spec, x.observed)
	if failure != nil {
		return &failureError{*failure}
	}
	if len(plan) == 0 {
		return nil
	}
	x.obs.Phase(topology.PhasePulling, "")
	if err := topology.Execute(x.ctx, plan, 0, false, x.pull); err != nil {
		return err
	}
	if err := x.observeImages(); err != nil {
		return err
	}
	for _, ref := range x.spec.Images() {
		if _, present := x.observed.Images[ref]; !present && !topology.IsBuilt(ref) {
			return &failureError{topology.Failure{
				Class:   topology.ClassImagePull,
				Message: fmt.Sprintf("The image %s was pulled but is not there; something else removed it.", ref),
			}}
		}
	}
	return nil
}

// observeImages looks the spec's images up, all at once.
func (x *execution) observeImages() error {
	refs := x.spec.Images()
	images := make([]topology.Image, len(refs))
	errs := make([]error, len(refs))
	var wg sync.WaitGroup
	for i, ref := range refs {
		wg.Go(func() { images[i], errs[i] = x.e.engine.Image(x.ctx, ref) })
	}
	wg.Wait()
	x.observed.Images = map[string]topology.Image{}
	for i, ref := range refs {
		switch {
		case errs[i] == nil:
			x.observed.Images[ref] = images[i]
		case topology.KindOf(errs[i]) != topology.KindNotFound:
			return errs[i]
		}
	}
	return nil
}

// pull fetches one image, and logs its progress as plain lines.
func (x *execution) pull(ctx context.Context, op topology.Op) error {
	begin, last := time.Now(), time.Now()
	var bytes int64
	x.say("Pulling image %s (%s)", op.Target, op.Cause)
	err := x.e.pulls.pull(ctx, op.Target, op.Platform, func(p topology.PullProgress) {
		bytes = p.Bytes
		if time.Since(last) < progressEvery {
			return
		}
		last = time.Now()
		x.say("Pulling image %s: %d of %d layers, %s of %s", op.Target, p.LayersDone, p.Layers,
			units.HumanSize(float64(p.Bytes)), units.HumanSize(float64(p.TotalBytes)))
	})
	x.mu.Lock()
	x.usage.Pulled += bytes
	x.mu.Unlock()
	if err == nil {
		x.say("Pulled image %s in %s", op.Target, time.Since(begin).Round(10*time.Millisecond))
	}
	return err
}

// say logs a sentence of the runner's own.
func (x *execution) say(format string, args ...any) {
	x.log.system("", fmt.Sprintf(format, args...))
}
