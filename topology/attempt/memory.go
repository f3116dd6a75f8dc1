package attempt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

const (
	// memoryPatience is how long the end of a job that failed waits for the news that a
	// service had run out of memory: a connection that breaks for that is noticed sooner.
	memoryPatience = 200 * time.Millisecond
	// memoryPause is how long an engine that has broken off is left alone at first; it
	// doubles up to a minute.
	memoryPause = time.Second
)

// boundMemory has it noticed when a process of a service is killed for its limit on
// memory while its main process lives on. It is called before the service starts.
// What the job itself makes of such a kill is told by its exit code.
func (x *execution) boundMemory(svc *service) {
	if x.spec.Services[svc.name].Resources.Memory == 0 {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.limited == nil {
		x.limited = map[string]*service{}
		x.watchers.Go(x.watchMemory)
	}
	x.limited[svc.container] = svc
}

// watchMemory listens until all has been said and done. What happened while the engine was
// away, or this attempt without a process that looked after it, is told afterwards.
func (x *execution) watchMemory() {
	for pause := memoryPause; ; pause = min(2*pause, time.Minute) {
		err := x.e.engine.WatchMemory(x.live, x.begin, x.ranOut)
		if x.live.Err() != nil {
			return
		}
		x.e.opts.Logger.Debug("the engine does not tell of memory any more", "job", x.id.Job, "error", err)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-x.live.Done():
			timer.Stop()
			return
		}
	}
}

// ranOut ends the attempt for a service that is over its limit.
func (x *execution) ranOut(container string) {
	x.mu.Lock()
	svc := x.limited[container]
	x.mu.Unlock()
	if svc == nil {
		return // the job's container, or somebody else's
	}
	f := memoryFailure(svc.name)
	f.Message = fmt.Sprintf("The service %s ran out of %s after %s; a process of it was killed.%s", svc.name,
		memoryOf(x.spec.Services[svc.name].Resources), time.Since(svc.begin).Round(10*time.Millisecond), quote(svc.log.tail.lines(tailLines)))
	x.stop(&failureError{f})
}

// memoryFailure is that of a service over its limit, but for the message.
func memoryFailure(service string) topology.Failure {
	return topology.Failure{
		Class: topology.ClassOOM, Container: service,
		Hint: fmt.Sprintf("Raise services.%s.resources.memory in the spec, or have it use less.", service),
	}
}

// memoryAtEnd gives a job that failed the reason that a service of it had.
func (x *execution) memoryAtEnd(o *outcome) {
	x.mu.Lock()
	watched := x.limited != nil
	x.mu.Unlock()
	if !watched || o.result.Failure == nil || o.result.Failure.Class != topology.ClassScript {
		return
	}
	timer := time.NewTimer(memoryPatience)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-x.ctx.Done():
	}
	var over *failureError
	if errors.As(context.Cause(x.ctx), &over) && over.failure.Class == topology.ClassOOM {
		o.result.Failure = &over.failure
	}
}
