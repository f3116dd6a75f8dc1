// Package topologytest stands in for a container engine in tests, and holds the
// contract that every engine passes.
package topologytest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// RunFunc is one scripted execution. It must return soon after ctx has ended;
// Ended turns ctx's cause into the result that a real executor would give.
type RunFunc func(ctx context.Context, work topology.Work, obs topology.Observer) topology.Result

// Executor is a topology.Executor without an engine. Its zero value succeeds at
// everything at once; the fields are set before use and its calls can be read
// while it runs.
type Executor struct {
	// Script runs the attempts; nil is Exit(0).
	Script RunFunc
	// AdoptScript runs the attempts that are taken up; nil is Script.
	AdoptScript func(left topology.Resume) RunFunc
	// Info and ProbeErr are what Probe answers; a zero Info is a Docker on linux/amd64.
	Info     topology.Info
	ProbeErr error
	// Seen is what Survey finds and Remove takes from.
	Seen topology.Snapshot
	// Leftovers is what Sweep claims to have found.
	Leftovers topology.Leaks
	SweepErr  error

	mu      sync.Mutex
	runs    []topology.Work
	sweeps  []Sweep
	adopted []topology.Identity
	closed  bool
	active  sync.WaitGroup
}

// Sweep is a call of Executor.Sweep.
type Sweep struct {
	Hub, Runner string
	Live        []topology.Identity
}

var _ topology.Executor = (*Executor)(nil)

// NewExecutor returns an executor that runs every attempt by script.
func NewExecutor(script RunFunc) *Executor { return &Executor{Script: script} }

// Run records the call and runs the script.
func (e *Executor) Run(ctx context.Context, work topology.Work, obs topology.Observer) topology.Result {
	e.mu.Lock()
	e.runs = append(e.runs, work)
	e.active.Add(1)
	e.mu.Unlock()
	defer e.active.Done()
	script := e.Script
	if script == nil {
		script = Exit(0)
	}
	return script(ctx, work, obs)
}

// Adopt records the call like Run and runs AdoptScript.
func (e *Executor) Adopt(ctx context.Context, work topology.Work, left topology.Resume, obs topology.Observer) topology.Result {
	e.mu.Lock()
	e.adopted = append(e.adopted, work.Identity)
	adopt := e.AdoptScript
	e.mu.Unlock()
	if adopt == nil {
		return e.Run(ctx, work, obs)
	}
	return adopt(left)(ctx, work, obs)
}

// Adopted returns whose attempts were taken up so far.
func (e *Executor) Adopted() []topology.Identity {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]topology.Identity(nil), e.adopted...)
}

// Sweep records the call.
func (e *Executor) Sweep(_ context.Context, hub, runner string, live []topology.Identity) (topology.Leaks, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sweeps = append(e.sweeps, Sweep{Hub: hub, Runner: runner, Live: append([]topology.Identity(nil), live...)})
	return e.Leftovers, e.SweepErr
}

// Probe answers with Info or ProbeErr.
func (e *Executor) Probe(context.Context) (topology.Info, error) {
	if e.ProbeErr != nil {
		return topology.Info{}, e.ProbeErr
	}
	if e.Info.Engine != "" {
		return e.Info, nil
	}
	return topology.Info{
		Engine: "fake 1.0", Endpoint: "in memory (topologytest)", OS: "linux", Arch: "amd64",
		Capabilities: []string{"amd64", "docker", "linux"},
	}, nil
}

// Close waits for the running scripts, bounded by ctx.
func (e *Executor) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	idle := make(chan struct{})
	go func() { e.active.Wait(); close(idle) }()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Runs returns the calls of Run so far.
func (e *Executor) Runs() []topology.Work {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]topology.Work(nil), e.runs...)
}

// Sweeps returns the calls of Sweep so far.
func (e *Executor) Sweeps() []Sweep {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]Sweep(nil), e.sweeps...)
}

// Closed says whether Close was called.
func (e *Executor) Closed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closed
}

// Ended returns the result of an attempt that ctx ended: canceled for every
// cause of package topology, timed_out for a deadline.
func Ended(ctx context.Context) topology.Result {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.DeadlineExceeded) {
		return topology.Result{Status: topology.TimedOut, Failure: &topology.Failure{
			Class: topology.ClassTimeout, Message: "The job ran out of time.", Container: "job",
		}}
	}
	message := "The job was canceled."
	if cause != nil {
		message = cause.Error()
	}
	return topology.Result{Status: topology.Canceled, Signal: "SIGTERM", Failure: &topology.Failure{
		Class: topology.ClassCanceled, Message: message,
	}}
}

// Log sends one line of the job's standard output to obs.
func Log(obs topology.Observer, line string) {
	_ = obs.Log(topology.Record{Time: time.Now(), Stream: topology.Stdout, Data: []byte(line + "\n")})
}

// Survey answers with Seen.
func (e *Executor) Survey(context.Context) (topology.Snapshot, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.Seen, nil
}

// Remove takes s from Seen.
func (e *Executor) Remove(_ context.Context, s topology.Snapshot) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	gone := s.Among(e.Seen)
	e.Seen.Containers = slices.DeleteFunc(e.Seen.Containers, func(c topology.ObservedContainer) bool {
		return slices.ContainsFunc(gone.Containers, func(g topology.ObservedContainer) bool { return g.Name == c.Name })
	})
	e.Seen.Networks = slices.DeleteFunc(e.Seen.Networks, func(n topology.ObservedNetwork) bool {
		return slices.ContainsFunc(gone.Networks, func(g topology.ObservedNetwork) bool { return g.Name == n.Name })
	})
	e.Seen.Volumes = slices.DeleteFunc(e.Seen.Volumes, func(v topology.ObservedVolume) bool {
		return slices.ContainsFunc(gone.Volumes, func(g topology.ObservedVolume) bool { return g.Name == v.Name })
	})
	return nil
}

var _ topology.Cleaner = (*Executor)(nil)
