package attempt

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// tailLines is how many of a service's last lines a failure quotes.
const tailLines = 10

// service is a started service.
type service struct {
	name      string
	container string
	process   topology.Process
	log       *pump
	begin     time.Time
	stays     bool // after the attempt

	ended chan struct{} // closed when the main process has
	exit  topology.Exit // set before ended is closed
	err   error
}

func (x *execution) startService(ctx context.Context, op topology.Op) error {
	return x.listenTo(op.Service, op.Target, func(svc *service) error {
		start := func() (topology.Process, error) {
			return x.e.engine.Start(ctx, op.Target, newTap(svc.log, topology.Offsets{}).write)
		}
		if x.member(svc.name) {
			start = func() (topology.Process, error) { return x.startMember(ctx, svc) }
		}
		process, err := start()
		if err != nil {
			return x.serviceStartError(svc, err)
		}
		svc.process = process
		return nil
	})
}

// listenTo makes a service the attempt's once begin has got its process.
func (x *execution) listenTo(name, container string, begin func(*service) error) error {
	svc := &service{
		name: name, container: container, begin: time.Now(),
		log: newPump(x.obs, name, x.e.opts.logLimit(), x.logFailed), ended: make(chan struct{}),
	}
	x.boundMemory(svc)
	if err := begin(svc); err != nil {
		svc.log.close(false)
		return err
	}
	x.mu.Lock()
	x.services[name] = svc
	x.mu.Unlock()
	x.boundDisk(svc.name, svc.container, x.spec.Services[svc.name].Resources)
	x.watchers.Go(func() { x.watchService(svc) })
	return nil
}

func (x *execution) service(name string) *service {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.services[name]
}

func (x *execution) allServices() []*service {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Collect(maps.Values(x.services))
}

// watchService waits for a service's end and says whether the attempt can go on.
//
// A service that fails ends it at any time before the job's own end: what the job
// would do without it is hang or fail with a riddle. One that ends well may do so
// once the job runs, or if another service waits for just that.
func (x *execution) watchService(svc *service) {
	svc.exit, svc.err = svc.process.Wait(x.live)
	close(svc.ended)
	if x.live.Err() != nil || x.ctx.Err() != nil {
		return
	}
	if svc.err != nil {
		x.stop(svc.err)
		return
	}
	x.mu.Lock()
	running := x.running
	x.mu.Unlock()
	if svc.exit.Code == 0 && (running || x.awaited(svc.name)) {
		x.say("Service %s ended", svc.name)
		return
	}
	x.stop(x.serviceDied(svc))
}

// killServices ends the services, whose work is done, and waits for the last that
// they wrote: only the end of a process says that all of it has been read. Those that
// ask for it have time to end by themselves.
func (x *execution) killServices(services []*service) {
	var wg sync.WaitGroup
	for _, svc := range services {
		if svc.stays {
			continue
		}
		wg.Go(func() {
			select {
			case <-svc.ended:
				return
			default:
			}
			x.askToEnd(svc)
			ctx, cancel := context.WithTimeout(x.live, killTimeout)
			defer cancel()
			if x.e.engine.Signal(ctx, svc.container, "SIGKILL") != nil {
				return // it has just ended, or cannot be reached; the removal sees to it
			}
			select {
			case <-svc.ended:
			case <-ctx.Done():
			}
		})
	}
	wg.Wait()
}

// askToEnd sends a service its signal to stop and waits for its end, where the service
// declares one of the two. Nobody waits for what a lost lease has left.
func (x *execution) askToEnd(svc *service) {
	spec := x.spec.Services[svc.name]
	if spec.StopSignal == "" && spec.StopGrace == 0 || x.stale() {
		return
	}
	grace := cmp.Or(time.Duration(spec.StopGrace), defaultGrace)
	ctx, cancel := context.WithTimeout(x.live, grace)
	defer cancel()
	signal := cmp.Or(spec.StopSignal, x.observed.Images[spec.Image].Stop, "SIGTERM")
	if x.e.engine.Signal(ctx, svc.container, signal) != nil {
		return
	}
	select {
	case <-svc.ended:
	case <-ctx.Done():
		x.say("Service %s did not end in %s and is killed", svc.name, grace)
	}
}

// awaited says whether another service waits for the end of name.
func (x *execution) awaited(name string) bool {
	for _, other := range x.spec.Services {
		if other.DependsOn[name].Condition == topology.ServiceCompleted {
			return true
		}
	}
	return false
}

// awaitCompleted waits for a service to end well.
func (x *execution) awaitCompleted(ctx context.Context, svc *service) error {
	select {
	case <-svc.ended:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	switch {
	case svc.err != nil:
		return svc.err
	case svc.exit.Code != 0:
		return x.serviceDied(svc)
	}
	return nil
}

// serviceDied is the failure of a service that ended when it should not have.
func (x *execution) serviceDied(svc *service) error {
	if svc.exit.Outside {
		return &failureError{outsideFailure(svc.name)}
	}
	how := fmt.Sprintf("exited with code %d", svc.exit.Code)
	if signal := signalOf(svc.exit.Code); signal != "" {
		how = "was ended by " + signal
	}
	limit := x.spec.Services[svc.name].Resources
	if svc.exit.OOM {
		how = fmt.Sprintf("ran out of %s (exit code %d)", memoryOf(limit), svc.exit.Code)
	}
	said := svc.log.tail.lines(tailLines)
	f := topology.Failure{
		Class: topology.ClassServiceUnhealthy, Container: svc.name,
		Message: fmt.Sprintf("The service %s %s after %s.%s", svc.name, how,
			time.Since(svc.begin).Round(10*time.Millisecond), quote(said)),
		Hint: fmt.Sprintf("Read the whole log of the service %s; check its image, command and environment.", svc.name),
	}
	switch {
	case svc.exit.OOM:
		over := memoryFailure(svc.name)
		f.Class, f.Hint = over.Class, over.Hint
	case svc.exit.Code != 0 && saysFull(said):
		x.explainFull(&f, limit, svc.container)
	}
	return &failureError{f}
}

// quote appends the last lines of a log to a sentence.
func quote(lines []string) string {
	if len(lines) == 0 {
		return " It wrote nothing."
	}
	return " Its last lines:\n" + strings.Join(lines, "\n")
}
