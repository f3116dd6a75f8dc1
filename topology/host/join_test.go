package host_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/host"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

func machineExecutor() *topologytest.Executor {
	return &topologytest.Executor{
		Info:      topology.Info{Engine: "host", OS: "linux", Arch: "amd64", Capabilities: []string{"amd64", "host", "linux"}},
		Leftovers: topology.Leaks{Containers: 1}, Seen: topology.Snapshot{Containers: []topology.ObservedContainer{{Name: "folder"}}},
	}
}

func TestJoin(t *testing.T) {
	t.Parallel()
	machine, engine := machineExecutor(), &topologytest.Executor{
		Leftovers: topology.Leaks{Containers: 2, Networks: 1},
		Seen:      topology.Snapshot{Containers: []topology.ObservedContainer{{Name: "container"}}},
	}
	both := host.Join(engine, nil, machine, nil)
	info, err := both.Probe(t.Context())
	if err != nil || info.Engine != "fake 1.0" || !slices.Equal(info.Capabilities, []string{"amd64", "docker", "host", "linux"}) {
		t.Errorf("%+v, %v", info, err)
	}
	onMachine := topology.Work{Identity: topology.Identity{Job: "a"}, Spec: &topology.Spec{}}
	inContainer := topology.Work{Identity: topology.Identity{Job: "b"}, Spec: &topology.Spec{Image: "app"}}
	for _, work := range []topology.Work{onMachine, inContainer} {
		both.Run(t.Context(), work, &topologytest.Observer{})
		both.Adopt(t.Context(), work, topology.Resume{}, &topologytest.Observer{})
	}
	for name, e := range map[string]*topologytest.Executor{"a": machine, "b": engine} {
		if runs := e.Runs(); len(runs) != 2 || runs[0].Job != name || runs[1].Job != name || len(e.Adopted()) != 1 {
			t.Errorf("%s ran %v", name, runs)
		}
	}
	found, err := both.Sweep(t.Context(), "hub", "rnr", nil)
	if err != nil || found != (topology.Leaks{Containers: 3, Networks: 1}) {
		t.Errorf("swept %+v, %v", found, err)
	}
	cleaner := both.(topology.Cleaner)
	seen, err := cleaner.Survey(t.Context())
	if err != nil || len(seen.Containers) != 2 {
		t.Errorf("seen %+v, %v", seen, err)
	}
	if err := cleaner.Remove(t.Context(), seen); err != nil || len(machine.Seen.Containers)+len(engine.Seen.Containers) > 0 {
		t.Errorf("left %v and %v, %v", machine.Seen, engine.Seen, err)
	}
	if err := both.Close(t.Context()); err != nil || !machine.Closed() || !engine.Closed() {
		t.Errorf("close: %v", err)
	}
	engine.ProbeErr = errors.New("it does not answer")
	if _, err := both.Probe(t.Context()); !errors.Is(err, engine.ProbeErr) {
		t.Errorf("%v", err)
	}
}

// A machine without an engine is one for jobs without an image alone, while its owner lets it.
func TestJoinWithoutAnEngine(t *testing.T) {
	t.Parallel()
	machine, allowed := machineExecutor(), false
	noEngine := errors.New("no engine")
	alone := host.Join(nil, noEngine, machine, func() bool { return allowed })
	if _, err := alone.Probe(t.Context()); !errors.Is(err, noEngine) {
		t.Errorf("%v", err)
	}
	allowed = true
	info, err := alone.Probe(t.Context())
	if diff := cmp.Diff(machine.Info, info); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	run := func(f func(context.Context, topology.Work, topology.Observer) topology.Result) {
		r := f(t.Context(), topology.Work{Spec: &topology.Spec{Image: "app"}}, &topologytest.Observer{})
		if r.Failure == nil || r.Failure.Class != topology.ClassDockerUnavailable {
			t.Errorf("%+v", r)
		}
	}
	run(alone.Run)
	run(func(ctx context.Context, w topology.Work, obs topology.Observer) topology.Result {
		return alone.Adopt(ctx, w, topology.Resume{}, obs)
	})
	if found, err := alone.Sweep(t.Context(), "hub", "rnr", nil); err != nil || found.Containers != 1 {
		t.Errorf("%+v, %v", found, err)
	}
}
