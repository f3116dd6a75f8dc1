package attempt

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// errTimedOut is the cause of an attempt that its spec's timeout ended.
var errTimedOut = errors.New("the job ran out of time")

// execution is one call of Run.
type execution struct {
	e      *Executor
	id     topology.Identity
	spec   *topology.Spec
	work   topology.Work
	names  topology.Names
	obs    topology.Observer // phases
	phases *phaseClock
	begin  time.Time

	// ctx ends when the attempt is to stop, with the reason as its cause. live goes
	// on until all has been said and done, and ends early only with the engine: the
	// last output and the exit are read, and signals sent, under it.
	ctx   context.Context
	stop  context.CancelCauseFunc
	live  context.Context
	sever context.CancelCauseFunc

	log      *pump // the job container's, and the runner's own words
	observed topology.Observed
	job      topology.Process
	caches   []cached
	resumed  checkpoint // what this process took the attempt up with
	heir     bool       // an earlier process has worked on the attempt
	saving   sync.Mutex // held by save
	saved    checkpoint // what another one would take it up with
	marks    stepMarks
	jobEnded chan struct{} // of a job with steps: closed when its container has
	jobExit  topology.Exit // set before jobEnded is closed
	jobErr   error
	services map[string]*service
	watchers sync.WaitGroup

	set      *warmSet // of the services that may stay, nil for none
	freshSet bool     // this attempt has started it
	left     bool     // it stays

	mu      sync.Mutex
	known   topology.Snapshot // what was created, or may have been
	running bool              // the job container was started
	disks   []diskLimit
	limited map[string]*service // those with a limit on memory, by their containers; nil is none
	tap     *tap                // of the job container
	usage   topology.Usage
	stand   string                  // the container that stands in for the job's
	endHold context.CancelCauseFunc // nil while nothing is held

	parent context.Context // Run's own
	opened sync.Once       // work.Enter was called
	use    *use            // of the containers by callers
	held   time.Duration   // how long the hold was
}

// Run executes one attempt; see topology.Executor.
func (e *Executor) Run(ctx context.Context, work topology.Work, obs topology.Observer) topology.Result {
	return e.begin(ctx, work, obs, false)
}

// begin executes an attempt from its start, as the first process or as an earlier one's heir.
func (e *Executor) begin(ctx context.Context, work topology.Work, obs topology.Observer, heir bool) topology.Result {
	tag := topology.NewTag()
	work.Spec = work.Spec.Unfold(work.Identity, tag)
	e.enter(work.Identity)
	x := e.newExecution(ctx, work, obs, time.Now(), topology.NamesFor(work.Spec, work.Identity, tag))
	x.saved.Tag, x.heir = tag, heir
	return x.conclude(x.execute)
}

func (e *Executor) newExecution(ctx context.Context, work topology.Work, obs topology.Observer, begin time.Time, names topology.Names) *execution {
	x := &execution{
		e: e, id: work.Identity, spec: work.Spec, work: work, phases: newPhaseClock(obs), begin: begin, names: names,
		use: newUse(), services: map[string]*service{}, jobEnded: make(chan struct{}), saved: checkpoint{Begin: begin, Names: names},
	}
	x.obs, x.parent = x.phases, ctx
	x.ctx, x.stop = context.WithCancelCause(ctx)
	x.live, x.sever = context.WithCancelCause(context.WithoutCancel(ctx))
	x.log = newPump(x.obs, "", x.e.opts.logLimit(), x.logFailed)
	return x
}

// conclude does the attempt's work and brings it to an end.
func (x *execution) conclude(work func() outcome) topology.Result {
	if x.spec.Timeout > 0 {
		timer := time.AfterFunc(time.Until(x.begin.Add(time.Duration(x.spec.Timeout))), func() { x.stop(errTimedOut) })
		defer timer.Stop()
	}
	x.watchers.Go(x.watchEngine)
	out := work()
	result := x.result(out)
	x.obs.Phase(topology.PhaseCollecting, "")
	x.collect(&result)
	x.saveCaches(&result)
	x.hold(result)
	x.finish(&result)
	result.Phases = x.phases.stop()
	return result
}

// execute goes through the attempt's phases and says how it ended.
func (x *execution) execute() outcome {
	x.obs.Phase(topology.PhasePreparing, "")
	if err := x.e.reaper.room(x.ctx); err != nil {
		return x.failed(err)
	}
	if err := x.observeSource(); err != nil {
		return x.failed(err)
	}
	if err := x.pullImages(); err != nil {
		return x.failed(err)
	}
	if err := x.buildImages(); err != nil {
		return x.failed(err)
	}
	if err := x.bringUp(); err != nil {
		return x.failed(err)
	}
	return x.runJob()
}

// runJob runs what the job is, in its container that was started.
func (x *execution) runJob() outcome {
	var out outcome
	switch {
	case x.spec.Session():
		out = x.runSession()
	case len(x.spec.Steps) > 0:
		out = x.runSteps()
	default:
		out = x.runCommand()
	}
	x.diskAtEnd(&out)
	x.memoryAtEnd(&out)
	return out
}

// bringUp plans the topology and carries the plan out, up to the job's start.
func (x *execution) bringUp() error {
	x.observed.Metadata = x.work.Metadata
	x.observed.Source = x.work.Source != ""
	if err := x.takeNetwork(); err != nil {
		return err
	}
	plan, failure := topology.PlanAttempt(x.spec, x.id, x.names, x.observed)
	if failure != nil {
		return &failureError{*failure}
	}
	if len(x.spec.Services) > 0 {
		x.obs.Phase(topology.PhaseStartingServices, "")
	}
	x.save(func(c *checkpoint) { // before anything is made
		c.Names, c.Network, c.Images = x.names, x.observed.Network, x.digests()
		if x.work.Hold != nil {
			c.Job = plan.Container(x.names.Job)
		}
	})
	return topology.Execute(x.ctx, plan, 0, false, x.do)
}

// do carries out one operation. What creates is not broken off when the attempt
// is to stop: the engine might still create it, after the removal had looked.
func (x *execution) do(ctx context.Context, op topology.Op) error {
	engine := x.e.engine
	switch op.Kind {
	case topology.OpCreateNetwork:
		x.note(func(s *topology.Snapshot) {
			s.Networks = append(s.Networks, topology.ObservedNetwork{Name: op.Target})
		})
		return x.e.nets.create(x.live, *op.Network)
	case topology.OpCreateVolume:
		x.note(func(s *topology.Snapshot) {
			s.Volumes = append(s.Volumes, topology.ObservedVolume{Name: op.Target})
		})
		return engine.CreateVolume(x.live, *op.Volume)
	case topology.OpCreateContainer:
		x.note(func(s *topology.Snapshot) {
			c := topology.ObservedContainer{Name: op.Target}
			if op.Container.Network != "" {
				c.Networks = []string{op.Container.Network}
			}
			for _, v := range op.Container.Volumes {
				c.Volumes = append(c.Volumes, v)
			}
			for _, m := range op.Container.Mounts {
				if m.Type == topology.MountVolume && m.Source != "" {
					c.Volumes = append(c.Volumes, m.Source)
				}
			}
			s.Containers = append(s.Containers, c)
		})
		return engine.CreateContainer(x.live, *op.Container)
	case topology.OpOpenDir:
		return engine.OpenDir(ctx, op.Target, op.Dir)
	case topology.OpCopy:
		return x.copyFiles(ctx, op)
	case topology.OpFill:
		return x.fill(ctx, op)
	case topology.OpRestore:
		return x.restoreCaches(ctx, op)
	case topology.OpStart:
		if op.Service != "" {
			return x.startService(ctx, op)
		}
		return x.startJob(ctx, op)
	case topology.OpAwaitHealthy:
		return x.awaitHealthy(ctx, x.service(op.Service), *op.Health)
	case topology.OpAwaitCompleted:
		return x.awaitCompleted(ctx, x.service(op.Service))
	}
	return errors.New("attempt: no such operation: " + string(op.Kind))
}

func (x *execution) note(change func(*topology.Snapshot)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	change(&x.known)
}

func (x *execution) startJob(ctx context.Context, op topology.Op) error {
	job, err := x.e.engine.Start(ctx, op.Target, x.jobTap(topology.Offsets{}).write)
	if err != nil {
		return x.jobStartError(err)
	}
	x.jobRuns(job)
	x.save(func(c *checkpoint) { c.Started = true })
	return nil
}

// jobTap is where the job container's output is to go.
func (x *execution) jobTap(from topology.Offsets) *tap {
	t := newTap(x.log, from)
	if x.spec.HeldOpen() {
		t.mark, t.steps, t.ended = []byte(x.names.Mark()), x.spec.Steps, x.marks.ended
	}
	x.tap = t
	return t
}

func (x *execution) jobRuns(job topology.Process) {
	x.mu.Lock()
	x.job, x.running = job, true
	x.mu.Unlock()
	x.boundDisk("job", x.names.Job, x.spec.Resources)
	x.watchers.Go(x.sampleUsage)
	if x.spec.IdleTimeout > 0 && !x.spec.Session() {
		x.log.speak()
		x.watchers.Go(x.watchIdle)
	}
	if x.spec.Exec {
		x.open()
	}
	if !x.spec.HeldOpen() {
		return
	}
	x.watchers.Go(func() {
		defer close(x.jobEnded)
		x.jobExit, x.jobErr = job.Wait(x.live)
	})
}

// errOver is the cause of whatever still goes on when the attempt has a result.
var errOver = errors.New("the attempt is over")

// stale says whether the lease is lost, so that nobody waits for what is left.
func (x *execution) stale() bool { return errors.Is(context.Cause(x.parent), topology.ErrStale) }

// finish sends the last of the logs, has the topology removed and ends what
// watched it.
func (x *execution) finish(result *topology.Result) {
	x.stop(errOver) // a no-op where there was a reason
	stale := x.stale()
	services := x.allServices()
	if stale {
		// Nobody reads them, and the observer may be holding them up.
		x.log.close(true)
		for _, svc := range services {
			svc.log.close(true)
		}
	}
	gone := context.Cause(x.live) != nil || result.Failure != nil && result.Failure.Class == topology.ClassDockerUnavailable
	if !gone {
		// Whoever takes the attempt up could not tell a service that was ended here from one that failed.
		x.handOver(services)
		result.Usage.Wall = time.Since(x.begin) - x.held
		x.saveResult(result)
		x.leaveSet(result)
		x.killServices(services)
	}
	x.sever(errOver)
	for _, svc := range services {
		if !svc.stays {
			svc.process.Close()
		}
		svc.log.close(stale)
	}
	if x.job != nil {
		x.job.Close()
		x.tap.flush()
	}
	x.log.close(stale)
	x.watchers.Wait()
	if gone {
		result.Leaks = x.known.Count()
	}
	result.Usage.Wall = time.Since(x.begin) - x.held
	x.saveResult(result) // before the containers go that could tell it again
	x.remove(x.heir)
}

// handOver has the observer take what the containers have written so far.
func (x *execution) handOver(services []*service) {
	if x.job != nil {
		x.job.Close()
		x.tap.flush()
	}
	x.log.sync()
	for _, svc := range services {
		svc.log.sync()
	}
}

// remove has removed what is known of the attempt, or all that there is of it.
func (x *execution) remove(all bool) {
	m := removal{
		id: x.id, known: x.known, all: all, ready: x.observed.Network, internal: x.spec.Network == topology.NetworkRestricted,
		filters: []topology.Filter{x.id.Filter()}, done: func() { x.e.leave(x.id) },
	}
	x.partWithSet(&m)
	x.e.reaper.add(m)
}
