package attempt

import (
	"context"
	"sync"

	"github.com/runnerhub/runnerhub/topology"
)

// pods makes a container ahead of a job that holds its network open: to join the network of
// a container that runs takes an engine a third of the time of an address of one's own. A
// pod is used once, and the next one is made when the runner is at rest, for the image of
// the job before: while other jobs run it would cost them what it saves the next.
//
// A pod is a set of one member, and kept, swept and removed as those of services are.
type pods struct {
	e    *Executor
	life context.Context
	end  context.CancelFunc

	mu     sync.Mutex
	unable map[string]bool // keys of images whose shell does not hold a pod open
}

// podMember is the name of a pod's only member.
const podMember = "pod"

func newPods(e *Executor) *pods {
	p := &pods{e: e, unable: map[string]bool{}}
	p.life, p.end = context.WithCancel(context.Background())
	return p
}

// close waits for the pod that is being made, and breaks that off when ctx ends. No more
// are begun.
func (p *pods) close(ctx context.Context) {
	stop := context.AfterFunc(ctx, p.end)
	defer stop()
	p.e.warm.makers.Wait()
	p.end()
}

// takePod gives the attempt a pod if there is one for it.
func (x *execution) takePod() bool {
	key, ok := x.podKey()
	if !ok {
		return false
	}
	set, _ := x.e.warm.look(key)
	if set == nil {
		return false
	}
	if alive, err := x.e.engine.NetworkInUse(x.ctx, set.network); err != nil || !alive {
		x.e.warm.discard(set, "it has ended")
		return false
	}
	x.useSet(set)
	x.names.Set = set.tag
	x.observed.Pod = set.members[podMember].container
	return true
}

// podKey says which pods the attempt could use.
func (x *execution) podKey() (warmKey, bool) {
	made, ok := topology.PodKey(x.spec, x.observed)
	return warmKey{hub: x.id.Hub, runner: x.id.Runner, made: made}, ok && x.e.opts.Pods
}

// after makes the pod of the next job of the attempt's kind, if the runner is at rest.
func (p *pods) after(x *execution) {
	key, ok := x.podKey()
	if !ok || len(p.e.activeAttempts()) > 0 {
		return
	}
	p.mu.Lock()
	unable := p.unable[key.made]
	p.mu.Unlock()
	if unable || !p.e.warm.begin(key) {
		return
	}
	go func() {
		err := p.make(x.spec, x.observed, key)
		if topology.KindOf(err) == topology.KindCommand {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.unable[key.made] = true
		}
	}()
}

// make starts a pod and puts it where the next job finds it. warm.begin was called for it.
func (p *pods) make(job *topology.Spec, observed topology.Observed, key warmKey) error {
	defer p.e.warm.makers.Done()
	internal := job.Network == topology.NetworkRestricted
	network, err := p.e.pool.withdraw(p.life, key.hub, key.runner, internal)
	if err != nil {
		p.e.warm.fail(key)
		return err
	}
	tag := topology.NewTag()
	observed.Network = network
	spec := topology.PodContainer(job, key.hub, key.runner, observed, tag)
	set := newWarmSet(key, tag, network, internal, p.e.opts.logLimit, topology.Names{Services: map[string]string{podMember: spec.Name}}, []string{podMember})
	set.known.Containers = []topology.ObservedContainer{{Name: spec.Name, Networks: []string{network}}}
	p.e.warm.hold(set)
	m := set.members[podMember]
	if err = p.e.engine.CreateContainer(p.life, spec); err == nil {
		m.process, err = p.e.engine.Start(p.life, spec.Name, m.out.write)
	}
	if err != nil {
		p.e.opts.Logger.Debug("no pod for the next job", "image", spec.Image, "error", err)
		m.process = nil
		set.end() // so that put removes it
	}
	p.e.warm.put(set, err == nil)
	return err
}
