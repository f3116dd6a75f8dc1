package attempt

import (
	"context"
	"encoding/json"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// Adopt takes up an attempt that another process was killed under; see topology.Executor.
//
// What it finds says how far that process had got. A checkpoint with a result: all
// was done but for the report. A job container that was started: it is listened to
// again, be it that it runs or has ended. Else nothing of the job has run yet, and
// the attempt begins anew.
func (e *Executor) Adopt(ctx context.Context, work topology.Work, left topology.Resume, obs topology.Observer) topology.Result {
	e.enter(work.Identity)
	var was checkpoint
	if left.Checkpoint != nil && json.Unmarshal(left.Checkpoint, &was) != nil {
		was = checkpoint{}
	}
	if was.Begin.IsZero() { // nothing of it is known, so that its time begins now
		was.Begin = time.Now()
	}
	folded := work.Spec
	work.Spec = work.Spec.Unfold(work.Identity, was.Tag)
	x := e.newExecution(ctx, work, obs, was.Begin, was.Names)
	x.saved, x.resumed, x.heir, x.caches = was, was, true, was.Caches
	seen, err := e.engine.Observe(x.live, work.Filter())
	if err == nil {
		err = x.observeSet(&seen)
	}
	if err != nil && was.Result == nil { // a result that is known is told whatever the engine says
		return x.conclude(func() outcome { return x.failed(err) })
	}
	e.pool.adopt(work.Hub, work.Runner, work.Spec.Network == topology.NetworkRestricted, was.Network)
	x.known, x.observed.Network = seen, was.Network
	switch {
	case was.Result != nil:
		x.log.close(true)
		x.discard(true)
		return *was.Result
	case work.Spec.OnHost() && (was.Started || started(seen, was.Names.Job)):
		return x.conclude(func() outcome { return x.refuse(lostFailure) })
	case !started(seen, was.Names.Job) && was.Started:
		return x.conclude(func() outcome { return x.refuse(goneFailure) })
	case !started(seen, was.Names.Job):
		x.say("The runner was killed while it prepared this job. It begins anew")
		x.log.close(false)
		x.discard(false) // the attempt that begins now has the same name
		work.Spec = folded
		return e.begin(ctx, work, obs, true)
	}
	x.say("The runner was killed while it ran this job, and has taken it up again")
	return x.conclude(func() outcome {
		if err := x.takeUp(seen, left.Offsets); err != nil {
			return x.failed(err)
		}
		return x.runJob()
	})
}

func started(seen topology.Snapshot, container string) bool {
	for _, c := range seen.Containers {
		if c.Name == container {
			return c.Started
		}
	}
	return false
}

// discard has everything removed that was found of the attempt, or with all what comes to light of it until then.
func (x *execution) discard(all bool) {
	x.stop(errOver)
	x.sever(errOver)
	x.remove(all)
}

// takeUp listens to the job and its services again.
func (x *execution) takeUp(seen topology.Snapshot, offsets map[string]topology.Offsets) error {
	for name := range x.spec.Services {
		container := x.names.Services[name]
		if !started(seen, container) {
			continue // it was removed, or never started; the job goes on as far as it gets
		}
		from := x.resumed.heard(name, offsets[name])
		err := x.listenTo(name, container, func(svc *service) error {
			process, err := x.e.engine.Attach(x.ctx, container, from, newTap(svc.log, from).write)
			svc.process = process
			return err
		})
		if err != nil {
			return err
		}
	}
	job, err := x.e.engine.Attach(x.ctx, x.names.Job, offsets[""], x.jobTap(offsets[""]).write)
	if err != nil {
		return err
	}
	x.jobRuns(job)
	return nil
}

// lostFailure is the end of a job without an image: its processes ended with the runner, and how it was
// getting on is not known.
var lostFailure = topology.Failure{
	Class: topology.ClassRunnerLost, Message: "The runner was killed or its machine went down while it ran this job.",
	Hint: "See the runner's log on its machine for why. A job without an image ends with its runner; one in a container would have gone on.",
}

// goneFailure is the end of a job whose container somebody has removed.
var goneFailure = topology.Failure{
	Class: topology.ClassDockerUnavailable, Container: "job",
	Message: "The job's container was removed while the runner was not running, so that how the job ended is not known.",
	Hint:    "See who removes containers on the runner's machine: `docker system prune`, for example.",
}
