package attempt

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// warmProbe is the longest that a service which an earlier job left may take to say
// that it is well.
const warmProbe = 5 * time.Second

// takeNetwork gives the attempt its network if there is one for it: that of the services
// which an earlier job left, a new one that its own services are to stay on, or a ready one.
func (x *execution) takeNetwork() error {
	internal := x.spec.Network == topology.NetworkRestricted
	switch reused := x.spec.Reused(); {
	case x.spec.Network == topology.NetworkNone, x.takePod():
		return nil
	case len(reused) > 0 && x.e.opts.WarmFor > 0 && x.work.Owner != "":
		return x.takeSet(reused, internal)
	case len(reused) > 0:
		x.say("This runner keeps no services for later jobs: reuse has no effect")
	}
	x.observed.Network = x.e.pool.take(x.id.Hub, x.id.Runner, internal)
	return nil
}

func (x *execution) takeSet(reused []string, internal bool) error {
	key := warmKey{x.id.Hub, x.id.Runner, x.work.Owner, topology.ReuseKey(x.spec, x.observed)}
	if set := x.e.warm.take(x.ctx, key); set != nil {
		err := x.well(set)
		if err == nil {
			return x.join(set)
		}
		x.e.warm.discard(set, "they are not well")
		if x.ctx.Err() != nil {
			return context.Cause(x.ctx)
		}
		x.say("Services that an earlier job left are not well, and start anew: %s", err)
	}
	network, err := x.e.pool.withdraw(x.live, x.id.Hub, x.id.Runner, internal)
	if err != nil {
		return err
	}
	tag := topology.NewTag()
	x.names = x.names.WithSet(x.spec, tag)
	set := newWarmSet(key, tag, network, internal, x.e.opts.logLimit, x.names, reused)
	x.e.warm.hold(set)
	x.useSet(set)
	x.freshSet = true
	return nil
}

// useSet makes a set the attempt's, to be removed with it unless it is left.
func (x *execution) useSet(set *warmSet) {
	x.set, x.observed.Network = set, set.network
	x.note(func(s *topology.Snapshot) {
		s.Containers = append(s.Containers, set.known.Containers...)
		s.Volumes = append(s.Volumes, set.known.Volumes...)
	})
}

// join goes on with the services of an earlier job.
func (x *execution) join(set *warmSet) error {
	x.useSet(set)
	x.names = x.names.WithSet(x.spec, set.tag)
	x.observed.Warm = true
	x.saved.Warm, x.saved.From = x.spec.Reused(), map[string]topology.Offsets{}
	for _, name := range x.saved.Warm {
		m := set.members[name]
		err := x.listenTo(name, m.container, func(svc *service) error {
			svc.process = m.process
			x.saved.From[name] = m.out.attach(func(from topology.Offsets) *tap { return newTap(svc.log, from) })
			return nil
		})
		if err != nil {
			return err
		}
		x.say("Service %s is warm: an earlier job started it %s ago", name, time.Since(set.born).Round(time.Second))
	}
	return nil
}

// well runs the healthchecks of a set's services once.
func (x *execution) well(set *warmSet) error {
	errs := make([]error, len(set.members))
	var wg sync.WaitGroup
	for i, name := range x.spec.Reused() {
		svc, m := x.spec.Services[name], set.members[name]
		wg.Go(func() {
			check := topology.EffectiveHealth(svc, x.observed.Images[svc.Image])
			if check == nil {
				return
			}
			ctx, cancel := context.WithTimeout(x.ctx, min(warmProbe, time.Duration(check.Timeout)))
			defer cancel()
			exit, err := x.e.engine.Exec(ctx, m.container, topology.ExecSpec{Argv: check.Test}, func(topology.Stream, []byte) {})
			switch {
			case err != nil:
				errs[i] = fmt.Errorf("the healthcheck of %s could not be run: %w", name, err)
			case exit.Code != 0:
				errs[i] = fmt.Errorf("the healthcheck of %s exited with code %d", name, exit.Code)
			}
		})
	}
	wg.Wait()
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		return errs[i]
	}
	return nil
}

// startMember starts a service that may stay.
func (x *execution) startMember(ctx context.Context, svc *service) (topology.Process, error) {
	m := x.set.members[svc.name]
	m.out.attach(func(from topology.Offsets) *tap { return newTap(svc.log, from) })
	process, err := x.e.engine.Start(ctx, svc.container, m.out.write)
	m.process = process
	return process, err
}

// member says whether a service is one of the attempt's set.
func (x *execution) member(name string) bool { return x.set != nil && x.set.members[name] != nil }

// leaveSet lets the set stay when the attempt has come to an end of its own. The set of
// one that was ended, or failed for a service's or the machine's sake, goes with it, and
// so does one that callers may have been in.
func (x *execution) leaveSet(result *topology.Result) {
	own := result.Status == topology.Succeeded || result.Status == topology.Failed && result.Failure != nil &&
		(result.Failure.Class == topology.ClassScript || result.Failure.Class == topology.ClassArtifact)
	if x.set == nil || x.observed.Pod != "" || !own || x.held > 0 || x.spec.Exec || !x.set.started() {
		return
	}
	for name := range x.set.members {
		select {
		case <-x.service(name).ended:
			return
		default:
		}
	}
	for name, m := range x.set.members {
		x.service(name).stays = true
		m.out.detach()
	}
	x.note(func(known *topology.Snapshot) {
		all := *known
		known.Containers, known.Volumes, x.set.known = nil, nil, topology.Snapshot{}
		for _, c := range all.Containers {
			of := known
			if x.names.InSet(c.Name) {
				of = &x.set.known
			}
			of.Containers = append(of.Containers, c)
		}
		for _, v := range all.Volumes {
			of := known
			if x.names.InSet(v.Name) {
				of = &x.set.known
			}
			of.Volumes = append(of.Volumes, v)
		}
	})
	x.left = true
	x.e.warm.leave(x.set.key)
}

// partWithSet completes a removal by what becomes of the set: it is idle once the rest is
// gone, or it goes too. Then there may be time to make a pod.
func (x *execution) partWithSet(m *removal) {
	set, done := x.set, m.done
	m.done = func() {
		done()
		switch {
		case x.left:
			x.e.warm.put(set, x.freshSet)
		case set != nil:
			if x.observed.Pod != "" {
				set.close()
			}
			x.e.warm.forget(set)
		}
		x.e.pods.after(x)
	}
	if x.left {
		m.ready = "" // the set's
		return
	}
	if set != nil {
		x.e.pool.adopt(x.id.Hub, x.id.Runner, set.internal, set.network)
	}
	if tag := x.names.Set; tag != "" {
		m.filters = append(m.filters, topology.Filter{Hub: x.id.Hub, Runner: x.id.Runner, Set: tag})
	}
}

// observeSet adds to what was found of an attempt the set that it has; its labels do
// not say so.
func (x *execution) observeSet(seen *topology.Snapshot) error {
	if x.names.Set == "" {
		return nil
	}
	set, err := x.e.engine.Observe(x.live, topology.Filter{Hub: x.id.Hub, Runner: x.id.Runner, Set: x.names.Set})
	*seen = seen.With(set)
	return err
}

// heard is how far a service's output is kept. What a warm one wrote before the attempt
// had it is none of the attempt's.
func (c *checkpoint) heard(name string, kept topology.Offsets) topology.Offsets {
	from := c.From[name]
	for _, s := range []topology.Stream{topology.Stdout, topology.Stderr} {
		if from.Of(s).Bytes > kept.Of(s).Bytes {
			*kept.Of(s) = *from.Of(s)
		}
	}
	if kept.At.Before(from.At) {
		kept.At = from.At
	}
	return kept
}
