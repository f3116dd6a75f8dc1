package topologytest

import (
	"context"
	"fmt"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// Exit is a job that logs lines, goes through the phases and ends with code.
func Exit(code int, lines ...string) RunFunc {
	return func(ctx context.Context, _ topology.Work, obs topology.Observer) topology.Result {
		begin := time.Now()
		obs.Phase(topology.PhasePreparing, "")
		obs.Phase(topology.PhaseRunning, "")
		for _, line := range lines {
			if ctx.Err() != nil {
				return Ended(ctx)
			}
			Log(obs, line)
		}
		obs.Phase(topology.PhaseCollecting, "")
		return exited(code, begin)
	}
}

// Until is a job that runs, and says so on started, until finish yields its exit
// code or ctx ends. Either channel may be nil.
func Until(started chan<- topology.Identity, finish <-chan int, lines ...string) RunFunc {
	return func(ctx context.Context, work topology.Work, obs topology.Observer) topology.Result {
		begin := time.Now()
		obs.Phase(topology.PhaseRunning, "")
		for _, line := range lines {
			Log(obs, line)
		}
		if started != nil {
			select {
			case started <- work.Identity:
			case <-ctx.Done():
				return Ended(ctx)
			}
		}
		select {
		case code := <-finish:
			return exited(code, begin)
		case <-ctx.Done():
			return Ended(ctx)
		}
	}
}

// Fail is a job that cannot run.
func Fail(class topology.Class, message string) RunFunc {
	return func(context.Context, topology.Work, topology.Observer) topology.Result {
		return topology.Result{Status: topology.Failed, Failure: &topology.Failure{Class: class, Message: message}}
	}
}

func exited(code int, begin time.Time) topology.Result {
	r := topology.Result{Status: topology.Succeeded, ExitCode: &code, Usage: topology.Usage{Wall: time.Since(begin)}}
	if code != 0 {
		r.Status = topology.Failed
		r.Failure = &topology.Failure{
			Class: topology.ClassScript, Message: fmt.Sprintf("The job exited with code %d.", code), Container: "job",
		}
	}
	return r
}
